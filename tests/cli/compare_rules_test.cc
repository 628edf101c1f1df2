// plinth compare by the acceptance's rules: who is truth and incumbent, every verdict, bands, waivers,
// customers' lines.
#include <cmath>

#include "plinth/formats/capture.h"
#include "plinth/formats/safetensors.h"
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using formats::ConstTensorRef;

constexpr size_t kCount = 4096;

std::vector<double> Truth(double phase = 0) {
  std::vector<double> r(kCount);
  for (size_t i = 0; i < kCount; ++i) r[i] = 1.5 + std::sin(0.37 * static_cast<double>(i) + phase);
  return r;
}

// The truth with a relative error of `size` in every element, of either sign in turn.
std::vector<float> Off(const std::vector<double>& r, double size) {
  std::vector<float> d(r.size());
  for (size_t i = 0; i < r.size(); ++i) d[i] = static_cast<float>(r[i] * (1 + (i % 2 == 0 ? size : -size)));
  return d;
}

double Rmse(const std::vector<float>& d, const std::vector<double>& r) {
  double sum = 0;
  for (size_t i = 0; i < r.size(); ++i) sum += (d[i] - r[i]) * (d[i] - r[i]);
  return std::sqrt(sum / static_cast<double>(r.size()));
}

class CompareRulesTest : public CliTest {
 protected:
  template <typename T>
  static ConstTensorRef Ref(const std::vector<T>& v, const std::vector<int64_t>& dims) {
    return {"x", sizeof(T) == 8 ? DType::kF64 : DType::kF32, dims,
            reinterpret_cast<const std::byte*>(v.data()), static_cast<int64_t>(v.size() * sizeof(T))};
  }
  template <typename T>
  void Save(const std::string& file, const std::vector<T>& v) const {
    const std::vector<int64_t> dims = {64, static_cast<int64_t>(v.size()) / 64};
    const std::vector<ConstTensorRef> refs = {Ref(v, dims)};
    ASSERT_TRUE(formats::WriteSafetensors(Path(file), refs).ok());
  }
  struct Of {
    int64_t rank = 0, world = 1, repeat = 0;
    std::string inputs = std::string(64, 'a'), op = "linear";
    bool full = true;
  };
  template <typename T>
  void Capture(const std::string& folder, const std::vector<T>& v, const Of& of) const {
    formats::CaptureInfo info;
    info.producer =
        formats::JsonValue(formats::JsonValue::Object{{"name", formats::JsonValue(std::string("test"))}});
    info.run_id = "r";
    info.rank = of.rank, info.world = of.world, info.repeat = of.repeat;
    info.model_name = "m";
    info.inputs_digest = of.inputs;
    std::filesystem::create_directories(std::filesystem::path(Path(folder)).parent_path());
    auto writer = formats::CaptureWriter::Create(Path(folder), info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    formats::CaptureEntry entry;
    entry.name = "net.0", entry.op = of.op;
    const std::vector<int64_t> dims = {64, static_cast<int64_t>(v.size()) / 64};
    const View view =
        DenseView(const_cast<T*>(v.data()), sizeof(T) == 8 ? DType::kF64 : DType::kF32, dims.data(), 2);
    ASSERT_TRUE(writer->Add(entry, view, of.full).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  // Five repeats of the incumbent, each off by up to `spread` besides.
  void Repeats(const std::string& folder, const std::vector<double>& r, double spread) const {
    for (int64_t k = 0; k < 5; ++k) {
      std::vector<float> run = Off(r, 1e-6);
      for (size_t i = 0; i < run.size(); ++i) {
        run[i] *= static_cast<float>(1 + spread * std::cos(static_cast<double>(i) + static_cast<double>(k)));
      }
      Capture(StrCat(folder, "/", k), run, {.repeat = k});
    }
  }
  std::vector<json> Lines(std::vector<std::string> arguments, int exit_code) const {
    arguments.insert(arguments.begin(), "compare");
    arguments.push_back("--json");
    const RunResult run = Run(arguments);
    EXPECT_EQ(run.exit_code, exit_code) << run.err << run.out;
    std::vector<json> lines;
    for (size_t at = 0; at < run.out.size();) {
      const size_t end = run.out.find('\n', at);
      lines.push_back(json::parse(run.out.substr(at, end - at)));
      at = end + 1;
    }
    EXPECT_GE(lines.size(), 2u) << run.err;
    return lines;
  }
  static std::string States(const json& row) {
    std::string text;
    for (const json& rule : row["rules"]) {
      StrAppend(&text, text.empty() ? "" : " ", rule["number"].get<int>(), ":",
                rule["state"].get<std::string>());
    }
    return text;
  }
};

TEST_F(CompareRulesTest, ReferenceIsTheIncumbentBesideATruth) {
  const std::vector<double> r = Truth();
  const std::vector<float> n = Off(r, 1e-6), d = Off(r, 1.5e-6);
  Save("t", r), Save("n", n), Save("d", d);
  const auto lines = Lines({"n", "d", "--truth", "t"}, 0);
  const json& row = lines[0];
  EXPECT_EQ(row["status"], "passed");
  EXPECT_EQ(row["verdict"], "pass");
  EXPECT_EQ(row["class"], "E");
  EXPECT_EQ(States(row), "1:holds 2:holds 3:holds 4:unproven");
  EXPECT_EQ(row["rules"][3]["detail"], "no band was given");
  EXPECT_EQ(row["waiver"], nullptr);
  EXPECT_EQ(row["requirements"], json::array());
  // Rule 3: RMSE(d - r) <= 2 RMSE(n - r) + u / 2 rms(r).
  double square = 0;
  for (const double x : r) square += x * x;
  const double limit =
      2 * Rmse(n, r) + 0.5 * std::ldexp(1.0, -24) * std::sqrt(square / static_cast<double>(kCount));
  EXPECT_NEAR(row["rules"][2]["measured"].get<double>(), Rmse(d, r), 1e-9 * Rmse(d, r));
  EXPECT_NEAR(row["rules"][2]["limit"].get<double>(), limit, 1e-9 * limit);
  const json& end = lines.back();
  EXPECT_EQ(end["verdict"], "pass");
  EXPECT_EQ(end["unproven_rules"], json::array({4}));
  EXPECT_EQ(end["rules"]["source"], "builtin");
  EXPECT_EQ(end["rules"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(end["self_test"], "passed");
  EXPECT_EQ(end["decided_by"], "x");
  const RunResult text = Run({"compare", "n", "d", "--truth", "t", "-v"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("pass (unproven: 4), class E: 1 structure holds, 2 hard cap holds, 3 "
                                  "incumbent holds, 4 noise unproven\n"));
  EXPECT_THAT(text.out, HasSubstr("rule 4 unproven: no band was given\n"));
  EXPECT_THAT(text.out, HasSubstr("unproven rules: 4\n"));
}

TEST_F(CompareRulesTest, TruthAndIncumbentMayBeGivenInEachWay) {
  const std::vector<double> r = Truth();
  Save("t", r), Save("n", Off(r, 1e-6)), Save("d", Off(r, 1.5e-6));
  const auto both = Lines({"n", "d", "--truth", "t"}, 0);
  // With an incumbent and no truth, REF is the truth.
  const auto other = Lines({"t", "d", "--incumbent", "n"}, 0);
  EXPECT_EQ(States(other[0]), States(both[0]));
  EXPECT_EQ(other[0]["rules"][2], both[0]["rules"][2]);
  // With all three, REF only names the tensors.
  const auto all = Lines({"d", "d", "--truth", "t", "--incumbent", "n"}, 0);
  EXPECT_EQ(all[0]["rules"][2], both[0]["rules"][2]);
  // REF as the truth and nothing else: no incumbent.
  const auto alone = Lines({"t", "d", "--truth", "t"}, 0);
  EXPECT_EQ(States(alone[0]), "1:holds 2:holds 3:unproven 4:unproven");
  EXPECT_EQ(alone[0]["rules"][2]["detail"], "no incumbent was given");
  EXPECT_EQ(alone.back()["verdict"], "pass");
  EXPECT_EQ(alone.back()["unproven_rules"], json::array({3, 4}));
}

TEST_F(CompareRulesTest, WarnsAndFails) {
  const std::vector<double> r = Truth();
  Save("t", r), Save("n", Off(r, 1e-6)), Save("four", Off(r, 4e-6)), Save("far", Off(r, 1e-3));
  // Four times the incumbent's error, below the cap: rule 3 alone.
  const auto warned = Lines({"n", "four", "--truth", "t"}, 0);
  EXPECT_EQ(warned[0]["status"], "warned");
  EXPECT_EQ(warned[0]["verdict"], "warn");
  EXPECT_EQ(States(warned[0]), "1:holds 2:holds 3:broken 4:unproven");
  EXPECT_EQ(warned.back()["verdict"], "warn");
  EXPECT_EQ(warned.back()["warned"], 1);
  const auto failed = Lines({"n", "far", "--truth", "t"}, 1);
  EXPECT_EQ(failed[0]["verdict"], "fail");
  EXPECT_EQ(States(failed[0]), "1:holds 2:broken 3:broken 4:unproven");
  EXPECT_EQ(failed.back()["first_failed"], "x");
  EXPECT_EQ(failed.back()["verdict"], "fail");
  const RunResult text = Run({"compare", "n", "four", "--truth", "t"});
  EXPECT_THAT(text.out, HasSubstr("warn (unproven: 4), class E:"));
  EXPECT_THAT(text.out, HasSubstr("3 incumbent broken"));
}

TEST_F(CompareRulesTest, UnprovenIsNoPass) {
  const std::vector<double> r = Truth();
  Save("n", Off(r, 1e-6)), Save("d", Off(r, 1.5e-6)), Save("far", Off(r, 1e-3));
  const auto lines = Lines({"n", "d", "--rules", "builtin"}, 0);
  EXPECT_EQ(lines[0]["status"], "unproven");
  EXPECT_EQ(lines[0]["verdict"], "unproven");
  EXPECT_EQ(States(lines[0]), "1:holds 2:unproven 3:unproven 4:unproven");
  EXPECT_EQ(lines.back()["verdict"], "warn");
  EXPECT_EQ(lines.back()["unproven"], 1);
  EXPECT_THAT(Run({"compare", "n", "d", "--rules", "builtin", "-v"}).out,
              HasSubstr("unproven (unproven: 2, 3, 4), class E: 1 structure holds"));
  // Where the rules know nothing of the numbers, the default line may still fail them.
  const auto far = Lines({"n", "far", "--rules", "builtin"}, 1);
  EXPECT_EQ(far[0]["verdict"], "fail");
  EXPECT_THAT(far[0]["reasons"][0].get<std::string>(),
              StartsWith("rules 2 to 4 are undecided and the line without truth and bands is broken: "));
  // Statistics alone leave all four open.
  Capture("cn", Off(r, 1e-6), {}), Capture("cs", Off(r, 1e-6), {.full = false});
  const auto statistics = Lines({"cn", "cs", "--rules", "builtin"}, 1);
  EXPECT_EQ(statistics[0]["verdict"], "unproven");
  EXPECT_EQ(States(statistics[0]), "1:unproven 2:unproven 3:unproven 4:unproven");
  EXPECT_EQ(statistics.back()["compared"], 0);
}

TEST_F(CompareRulesTest, StructureIsRuleOne) {
  const std::vector<double> r = Truth();
  Save("t", r), Save("n", Off(r, 1e-6));
  Save("short", Off(std::vector<double>(r.begin(), r.begin() + 2048), 1e-6));
  const auto lines = Lines({"n", "short", "--truth", "t"}, 1);
  EXPECT_EQ(States(lines[0]), "1:broken 2:unproven 3:unproven 4:unproven");
  EXPECT_EQ(lines[0]["verdict"], "fail");
  ASSERT_TRUE(formats::WriteSafetensors(Path("none"), {}).ok());
  const auto missing = Lines({"n", "none", "--truth", "t"}, 1);
  EXPECT_EQ(missing[0]["status"], "missing");
  EXPECT_EQ(missing[0]["rules"][0]["detail"], "the candidate has no such tensor");
  const auto extra = Lines({"none", "n", "--truth", "t"}, 1);
  EXPECT_EQ(extra[0]["verdict"], "fail");
  EXPECT_EQ(States(extra[0]), "1:broken 2:unproven 3:unproven 4:unproven");
}

TEST_F(CompareRulesTest, BandsDecideRuleFour) {
  const std::vector<double> r = Truth();
  Repeats("band", r, 1e-6);
  Capture("t", r, {}), Capture("n", Off(r, 1e-6), {}), Capture("near", Off(r, 1.5e-6), {});
  Capture("beyond", Off(r, 3.5e-6), {});
  const auto all = Lines({"n", "near", "--truth", "t", "--band", "band", "--write-band", "band.json"}, 0);
  EXPECT_EQ(all[0]["verdict"], "pass");
  EXPECT_EQ(States(all[0]), "1:holds 2:holds 3:holds 4:holds");
  EXPECT_EQ(all.back()["unproven_rules"], json::array());
  EXPECT_EQ(all.back()["band"], "R = 5: the next run exceeds the largest seen with a chance of 16.7 %");
  const json band = json::parse(Read("band.json"));
  EXPECT_EQ(band["schema"], "plinth.band/1");
  EXPECT_EQ(band["runs"], 5);
  // cos(i + k) - cos(i + m) is largest for |k - m| = 3: 2 sin(3 / 2) = 1.995, over an RMS of 1 / sqrt(2).
  EXPECT_NEAR(band["tensors"]["net.0:out0@0"]["rel_l2"].get<double>(), 1.995e-6 / std::sqrt(2), 3e-8);
  // Read back, it says the same.
  const auto again = Lines({"n", "near", "--truth", "t", "--band", "band.json"}, 0);
  EXPECT_EQ(again[0]["rules"], all[0]["rules"]);
  // A band alone decides rule 4 and leaves 2 and 3 open.
  const auto alone = Lines({"n", "near", "--band", "band"}, 0);
  EXPECT_EQ(States(alone[0]), "1:holds 2:unproven 3:unproven 4:holds");
  EXPECT_EQ(alone[0]["verdict"], "pass");
  // Beyond both the incumbent's error and its noise is a failure, cap or not.
  const auto both = Lines({"n", "beyond", "--truth", "t", "--band", "band"}, 1);
  EXPECT_EQ(States(both[0]), "1:holds 2:holds 3:broken 4:broken");
}

TEST_F(CompareRulesTest, WaivedWarningsStayWarnings) {
  const std::vector<double> r = Truth();
  Save("t", r), Save("n", Off(r, 1e-6)), Save("four", Off(r, 4e-6));
  const std::time_t soon = std::time(nullptr) + 30 * 86400;
  char day[16];
  std::strftime(day, sizeof(day), "%Y-%m-%d", std::gmtime(&soon));
  const std::string record =
      "[[waiver]]\ntensor = 'x*'\nrule = 3\nowner = 'Li Wei'\nreason = 'fused'\nexpires = ";
  Write("w.toml", StrCat(record, day, "\n"));
  const auto lines = Lines({"n", "four", "--truth", "t", "--waivers", "w.toml"}, 0);
  EXPECT_EQ(lines[0]["status"], "warned");
  EXPECT_EQ(lines[0]["verdict"], "warn");
  EXPECT_THAT(lines[0]["waiver"].get<std::string>(), HasSubstr("Li Wei"));
  EXPECT_THAT(lines[0]["waiver"].get<std::string>(), HasSubstr("fused"));
  EXPECT_EQ(lines.back()["verdict"], "warn");
  EXPECT_EQ(lines.back()["waived"], 1);
  EXPECT_THAT(Run({"compare", "n", "four", "--truth", "t", "--waivers", "w.toml"}).out,
              HasSubstr("warn (unproven: 4) (waived)"));
  Write("old.toml", StrCat(record, "2020-01-01\n"));
  const RunResult expired = Run({"compare", "n", "four", "--truth", "t", "--waivers", "old.toml"});
  EXPECT_EQ(expired.exit_code, 0);
  EXPECT_THAT(expired.err, StartsWith("plinth: note: "));
  EXPECT_EQ(expired.out.find("(waived)"), std::string::npos);
}

TEST_F(CompareRulesTest, RequirementsStandBesideTheRules) {
  const std::vector<double> r = Truth();
  Save("t", r), Save("n", Off(r, 1e-6)), Save("d", Off(r, 1.5e-6));
  // Relative to the incumbent it is off by 0.5e-6 and two roundings: below 1e-6, above 1e-7.
  Write("c.toml",
        "[[requirement]]\nname = 'wide'\nkind = 'allclose'\nf32 = {atol = 0.0, rtol = 1e-6}\n"
        "[[requirement]]\nname = 'elsewhere'\nkind = 'distance'\ntensor = 'lm_head*'\nmax_abs = 1.0\n"
        "[[requirement]]\nname = 'task'\nkind = 'task'\nmetric = 'accuracy'\nat_least = 0.9\n");
  const auto lines = Lines({"n", "d", "--truth", "t", "--requirements", "c.toml"}, 0);
  ASSERT_EQ(lines[0]["requirements"].size(), 1u);
  EXPECT_EQ(lines[0]["requirements"][0]["name"], "wide");
  EXPECT_EQ(lines[0]["requirements"][0]["status"], "passed");
  const json& all = lines.back()["requirements"];
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["status"], "passed");
  EXPECT_EQ(all[1]["status"], "unproven");
  EXPECT_EQ(all[1]["detail"], "it speaks of no tensor that was compared");
  EXPECT_EQ(all[2]["status"], "unproven");
  Write("c.toml", "[[requirement]]\nname = 'strict'\nkind = 'allclose'\nf32 = {atol = 0.0, rtol = 1e-7}\n");
  const auto failed = Lines({"n", "d", "--truth", "t", "--requirements", "c.toml"}, 1);
  // The rules' own verdict does not change.
  EXPECT_EQ(failed[0]["verdict"], "pass");
  EXPECT_EQ(failed[0]["requirements"][0]["status"], "failed");
  EXPECT_EQ(failed.back()["failed"], 0);
  EXPECT_EQ(failed.back()["verdict"], "fail");
  EXPECT_THAT(failed.back()["requirements"][0]["detail"].get<std::string>(), StartsWith("x: "));
  // And one that holds does not save what the rules fail.
  Write("c.toml", "[[requirement]]\nname = 'loose'\nkind = 'allclose'\nf32 = {atol = 1.0, rtol = 1.0}\n");
  Save("far", Off(r, 1e-3));
  EXPECT_EQ(Lines({"n", "far", "--truth", "t", "--requirements", "c.toml"}, 1).back()["verdict"], "fail");
}

TEST_F(CompareRulesTest, TheWorstRankDecides) {
  const std::vector<double> r = Truth();
  for (int64_t rank = 0; rank < 2; ++rank) {
    Capture(StrCat("t/", rank), r, {.rank = rank, .world = 2});
    Capture(StrCat("n/", rank), Off(r, 1e-6), {.rank = rank, .world = 2});
    Capture(StrCat("d/", rank), Off(r, rank == 0 ? 1e-6 : 3e-6), {.rank = rank, .world = 2});
  }
  const auto lines = Lines({"n", "d", "--truth", "t"}, 0);
  EXPECT_EQ(lines[0]["verdict"], "pass");
  EXPECT_EQ(lines[1]["verdict"], "warn");
  EXPECT_EQ(lines.back()["verdict"], "warn");
  EXPECT_EQ(lines.back()["decided_by"], "net.0:out0@0 (rank 1, repeat 0)");
  // Collectives hold the same bits on all ranks.
  const Of reduced = {.world = 2, .op = "all_reduce"};
  for (int64_t rank = 0; rank < 2; ++rank) {
    Of of = reduced;
    of.rank = rank;
    Capture(StrCat("tj/", rank), r, of), Capture(StrCat("nj/", rank), Off(r, 3e-8), of);
    Capture(StrCat("dj/", rank), Off(r, rank == 0 ? 3e-8 : 4e-8), of);
  }
  EXPECT_EQ(Lines({"nj", "nj", "--truth", "tj"}, 0).back()["verdict"], "pass");
  const auto ranks = Lines({"nj", "dj", "--truth", "tj"}, 1);
  EXPECT_EQ(ranks[0]["class"], "J");
  EXPECT_EQ(ranks[0]["rules"][0]["state"], "broken");
  EXPECT_THAT(ranks[0]["rules"][0]["detail"].get<std::string>(), StartsWith("rank 1 holds "));
}

// Truth and incumbent are whole; each rank of the candidate is judged by its part of them.
TEST_F(CompareRulesTest, JudgesPartsOfRanks) {
  const std::vector<double> r = Truth();
  Repeats("band", r, 1e-6);
  Capture("t", r, {}), Capture("n", Off(r, 1e-6), {});
  const std::vector<float> good = Off(r, 1.5e-6), bad = Off(r, 1e-3);
  for (int64_t rank = 0; rank < 2; ++rank) {
    std::vector<float> part;
    for (size_t i = 0; i < kCount; ++i) {
      if (i % 64 / 32 == static_cast<size_t>(rank)) part.push_back(good[i]);
    }
    Capture(StrCat("d/", rank), part, {.rank = rank, .world = 2});
    if (rank == 1) part[7] = bad[7 + 32];
    Capture(StrCat("e/", rank), part, {.rank = rank, .world = 2});
  }
  Write("m.toml", "[[ranks]]\npattern = 'net.*'\nconcatenate = [1]\n");
  const auto lines = Lines({"n", "d", "--truth", "t", "--band", "band", "--map", "m.toml"}, 0);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(States(lines[0]), "1:holds 2:holds 3:holds 4:unproven");
  EXPECT_EQ(States(lines[1]), "1:holds 2:holds 3:holds 4:unproven");
  EXPECT_EQ(lines[1]["rules"][3]["detail"], "the band does not hold this tensor, or this part of it");
  const auto one = Lines({"n", "e", "--truth", "t", "--map", "m.toml"}, 1);
  EXPECT_EQ(one[0]["verdict"], "pass");
  EXPECT_EQ(one[1]["verdict"], "fail");
  EXPECT_EQ(one.back()["worst_rank"], 1);
  EXPECT_EQ(one.back()["decided_by"], "net.0:out0@0 (rank 1, repeat 0)");
}

TEST_F(CompareRulesTest, SpoiltRulesAreMistrusted) {
  const std::vector<double> r = Truth();
  Save("t", r), Save("n", Off(r, 1e-6));
  std::string rules;
  {
    std::ifstream in(Source("cases/rules.toml"));
    rules.assign(std::istreambuf_iterator<char>(in), {});
  }
  Write("same.toml", rules);
  EXPECT_EQ(Lines({"n", "n", "--truth", "t", "--rules", "same.toml"}, 0).back()["self_test"], "passed");
  const std::string was = "\nlambda = 6.0\n";
  ASSERT_NE(rules.find(was), std::string::npos);
  rules.replace(rules.find(was), was.size(), "\nlambda = 1e5\n");
  Write("spoilt.toml", rules);
  const auto lines = Lines({"n", "n", "--truth", "t", "--rules", "spoilt.toml"}, 1);
  EXPECT_EQ(lines[0]["status"], "mistrusted");
  EXPECT_EQ(lines[0]["verdict"], "fail");
  EXPECT_NE(lines.back()["self_test"], "passed");
  EXPECT_EQ(lines.back()["verdict"], "fail");
}

TEST_F(CompareRulesTest, RefusesBadUse) {
  const std::vector<double> r = Truth();
  Save("n", Off(r, 1e-6));
  Capture("one", Off(r, 1e-6), {}), Capture("other", Off(r, 1e-6), {.inputs = std::string(64, 'b')});
  const auto refuse = [&](std::vector<std::string> options, const std::string& message) {
    options.insert(options.begin(), {"compare", "n", "n"});
    ExpectError(options, 2, message);
  };
  refuse({"--rules", "none.toml"}, "none.toml: cannot be opened: No such file or directory");
  refuse({"--incumbent", "none"}, "none: cannot be opened: No such file or directory");
  refuse({"--band", "none"}, "none: cannot be opened: No such file or directory");
  refuse({"--waivers", "none"}, "none: cannot be opened: No such file or directory");
  refuse({"--requirements", "none"}, "none: cannot be opened: No such file or directory");
  refuse({"--write-band", "b.json"}, "--write-band needs repeats of the incumbent's run: --band FOLDER");
  refuse({"--band", "one"},
         "one: a band of 1 runs; at least 2 are expected, 5 for daily work, 59 for a signed acceptance");
  std::filesystem::create_directory(Path("folder"));
  std::filesystem::copy(Path("n"), Path("folder/model.safetensors"));
  refuse(
      {"--band", "folder"},
      "folder: holds no captures; a folder with repeats of the incumbent's run, or a band.json, is expected");
  for (int64_t k = 0; k < 4; ++k) {
    Capture(StrCat("two/", k), Off(r, 1e-6), {.rank = k / 2, .world = 2, .repeat = k % 2});
  }
  refuse({"--band", "two", "--write-band", "b.json"},
         "--write-band: two holds 2 ranks; captures of one rank are expected");
  EXPECT_FALSE(std::filesystem::exists(Path("b.json")));
  ExpectError(
      {"compare", "one", "one", "--incumbent", "other"}, 2,
      "other: was captured with other inputs than one (sha256 bbbbbbbbbbbb and aaaaaaaaaaaa); captures "
      "of the same inputs are expected, --allow-different compares them all the same");
  ExpectError(
      {"compare", "one", "one", "--band", "other"}, 2,
      "other: was captured with other inputs than one (sha256 bbbbbbbbbbbb and aaaaaaaaaaaa); captures "
      "of the same inputs are expected, --allow-different compares them all the same");
}

}  // namespace
}  // namespace plinth::cli
