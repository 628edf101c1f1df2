// plinth compare: text, JSON, exit codes and every refusal.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plinth/formats/capture.h"
#include "plinth/formats/safetensors.h"
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using formats::ConstTensorRef;

struct Values {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<float> v;
};

Values Wave(const std::string& name, std::vector<int64_t> dims, float phase = 0) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  Values t{name, std::move(dims), {}};
  for (int64_t i = 0; i < n; ++i)
    t.v.push_back(std::sin(0.37f * static_cast<float>(i) + phase) + 0.01f * static_cast<float>(i % 7));
  return t;
}

class CompareTest : public CliTest {
 protected:
  void Save(const std::string& file, const std::vector<Values>& tensors) const {
    std::vector<ConstTensorRef> refs;
    for (const Values& t : tensors) {
      refs.push_back({t.name, DType::kF32, t.dims, reinterpret_cast<const std::byte*>(t.v.data()),
                      static_cast<int64_t>(t.v.size() * 4)});
    }
    ASSERT_TRUE(formats::WriteSafetensors(Path(file), refs).ok());
  }
  void Capture(const std::string& folder, const std::vector<Values>& tensors, int64_t rank = 0,
               int64_t world = 1, const std::string& inputs = std::string(64, 'a'), bool full = true) const {
    formats::CaptureInfo info;
    info.producer =
        formats::JsonValue(formats::JsonValue::Object{{"name", formats::JsonValue(std::string("test"))}});
    info.run_id = "r";
    info.rank = rank, info.world = world;
    info.model_name = "m";
    info.inputs_digest = inputs;
    auto writer = formats::CaptureWriter::Create(Path(folder), info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const Values& t : tensors) {
      formats::CaptureEntry entry;
      entry.name = t.name;
      entry.op = "linear";
      const View view = DenseView(const_cast<float*>(t.v.data()), DType::kF32, t.dims.data(),
                                  static_cast<int>(t.dims.size()));
      ASSERT_TRUE(writer->Add(entry, view, full).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }
  std::vector<json> Lines(const std::vector<std::string>& arguments, int exit_code) const {
    const RunResult run = Run(arguments);
    EXPECT_EQ(run.exit_code, exit_code) << run.err << run.out;
    EXPECT_EQ(run.err, "");
    std::vector<json> lines;
    size_t at = 0;
    while (at < run.out.size()) {
      const size_t end = run.out.find('\n', at);
      lines.push_back(json::parse(run.out.substr(at, end - at)));
      at = end + 1;
    }
    return lines;
  }
};

TEST_F(CompareTest, PassesEqualFiles) {
  Save("a.safetensors", {Wave("x", {4, 30}), Wave("y", {100}, 1)});
  const RunResult run = Run({"compare", "a.safetensors", "a.safetensors"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 tensors compared"));
  EXPECT_THAT(run.out, HasSubstr("2 passed, 0 failed\n"));
  const auto lines = Lines({"compare", "a.safetensors", "a.safetensors", "--json", "--digest"}, 0);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["tensor"], "x");
  EXPECT_EQ(lines[0]["status"], "passed");
  for (const char* key : {"max_abs",      "worst",          "p99_rel",    "p999_rel",
                          "rel_l2",       "rmse",           "mean_error", "balance",
                          "cosine",       "implied_rel_l2", "max_ulp",    "ulp_histogram",
                          "nan_mismatch", "inf_mismatch",   "unequal",    "zero_sign_mismatch",
                          "reference",    "candidate",      "lane_max",   "tile_max",
                          "level",        "limit"}) {
    EXPECT_TRUE(lines[0].contains(key)) << key;
  }
  EXPECT_EQ(lines[0]["lane_max"].size(), 64u);
  EXPECT_EQ(lines[0]["sha256_reference"], lines[0]["sha256_candidate"]);
  EXPECT_EQ(lines[0]["sha256_reference"].get<std::string>().size(), 64u);
  EXPECT_EQ(lines[2]["summary"], true);
  EXPECT_EQ(lines[2]["tensors"], 2);
  EXPECT_EQ(lines[2]["bytes"], 2 * 220 * 4);
  EXPECT_EQ(lines[2]["failed"], 0);
  EXPECT_EQ(lines[2]["first_failed"], nullptr);
  EXPECT_EQ(lines[2]["verdict"], "pass");
}

TEST_F(CompareTest, NamesTheFirstFailureAndTheFault) {
  Values x = Wave("x", {16, 128}), y = Wave("y", {16, 128}, 1);
  Save("a.safetensors", {x, y});
  for (size_t i = 0; i < y.v.size(); ++i) {
    if (i % 64 >= 32) y.v[i] *= 1.03f;
  }
  Save("b.safetensors", {x, y});
  const auto lines = Lines({"compare", "a.safetensors", "b.safetensors", "--json"}, 1);
  EXPECT_EQ(lines[1]["status"], "failed");
  EXPECT_EQ(lines[1]["findings"][0]["id"], "lanes");
  EXPECT_EQ(lines[2]["first_failed"], "y");
  EXPECT_EQ(lines[2]["failed"], 1);
  EXPECT_EQ(lines[2]["verdict"], "fail");
  const RunResult run = Run({"compare", "a.safetensors", "b.safetensors"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("-> lanes 32..63 differ"));
  EXPECT_THAT(run.out, HasSubstr("first failed: y\n"));
  EXPECT_THAT(run.out, HasSubstr("1 passed, 1 failed\n"));
  // A class with other limits lets it through: 8-bit results may be that far off in no class, so it is asked
  // exactly.
  EXPECT_EQ(Run({"compare", "a.safetensors", "a.safetensors", "--class", "A"}).exit_code, 0);
  EXPECT_EQ(Run({"compare", "a.safetensors", "b.safetensors", "--class", "A"}).exit_code, 1);
}

TEST_F(CompareTest, MissingFailsAndExtraMayBeAllowed) {
  Save("a.safetensors", {Wave("x", {8}), Wave("y", {8})});
  Save("b.safetensors", {Wave("x", {8}), Wave("z", {8})});
  const auto lines = Lines({"compare", "a.safetensors", "b.safetensors", "--json"}, 1);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1]["status"], "missing");
  EXPECT_EQ(lines[2]["status"], "extra");
  EXPECT_EQ(lines[3]["failed"], 2);
  Save("c.safetensors", {Wave("x", {8}), Wave("y", {8}), Wave("z", {8})});
  EXPECT_EQ(Run({"compare", "a.safetensors", "c.safetensors"}).exit_code, 1);
  EXPECT_EQ(Run({"compare", "a.safetensors", "c.safetensors", "--allow-extra"}).exit_code, 0);
  // Nothing in common is a failure, extra allowed or not.
  Save("d.safetensors", {});
  const auto nothing = Lines({"compare", "d.safetensors", "a.safetensors", "--allow-extra", "--json"}, 1);
  EXPECT_EQ(nothing.back()["compared"], 0);
  EXPECT_EQ(nothing.back()["verdict"], "fail");
  EXPECT_THAT(Run({"compare", "d.safetensors", "d.safetensors"}).out,
              HasSubstr("nothing compared is a failure"));
}

TEST_F(CompareTest, NanBesideNanIsSeenAndNeverAllThereIs) {
  Values x = Wave("x", {4, 30}), y = Wave("y", {8, 16}, 1);
  x.v[7] = x.v[50] = std::nanf("");
  Save("some", {x, y});
  const auto some = Lines({"compare", "some", "some", "--json"}, 0);
  EXPECT_EQ(some[0]["status"], "passed");
  EXPECT_EQ(some[0]["nan_both"], 2);
  EXPECT_EQ(some[1]["nan_both"], 0);
  EXPECT_EQ(some[2]["with_nan"], 1);
  EXPECT_EQ(some[2]["verdict"], "pass");
  EXPECT_THAT(Run({"compare", "some", "some"}).out,
              HasSubstr("NaN in the same places on both sides: 1 tensor, x\n"));
  EXPECT_THAT(Run({"compare", "some", "some", "-v"}).out, HasSubstr("NaN on both sides at 2 of 120"));

  std::fill(x.v.begin(), x.v.end(), std::nanf(""));
  Save("all", {x, y});
  const auto all = Lines({"compare", "all", "all", "--json"}, 1);
  EXPECT_EQ(all[0]["status"], "failed");
  EXPECT_EQ(all[0]["reasons"][0],
            "no element is finite on both sides (120 of 120 are NaN on both): nothing was compared");
  EXPECT_EQ(all[0]["nan_both"], 120);
  EXPECT_EQ(all[1]["status"], "passed");
  EXPECT_EQ(all[2]["compared"], 1);
  EXPECT_EQ(all[2]["failed"], 1);

  // A mask of infinities alone is the same on both sides, and no number was compared.
  std::fill(x.v.begin(), x.v.end(), -INFINITY);
  Save("mask", {x, y});
  const auto mask = Lines({"compare", "mask", "mask", "--json"}, 0);
  EXPECT_EQ(mask[0]["status"], "unproven");
  EXPECT_EQ(mask[0]["reasons"][0], "only infinities, the same on both sides: no number was compared");
  EXPECT_EQ(mask[2]["verdict"], "warn");
}

TEST_F(CompareTest, NothingComparedIsAFailure) {
  Save("empty", {Wave("x", {0, 4}), Wave("y", {0})});
  const auto empty = Lines({"compare", "empty", "empty", "--json"}, 1);
  EXPECT_EQ(empty[0]["status"], "passed");
  EXPECT_EQ(empty[2]["compared"], 0);
  EXPECT_EQ(empty[2]["verdict"], "fail");
  EXPECT_THAT(Run({"compare", "empty", "empty"}).out, HasSubstr("nothing compared is a failure"));
  EXPECT_EQ(Lines({"compare", "empty", "empty", "--rules", "builtin", "--json"}, 1)[2]["verdict"], "fail");
  // Beside others an empty tensor is no fault.
  Save("beside", {Wave("x", {0, 4}), Wave("z", {8})});
  EXPECT_EQ(Lines({"compare", "beside", "beside", "--json"}, 0)[2]["compared"], 1);

  Save("a", {Wave("x", {8, 4}), Wave("z", {8})});
  Write("cut.toml",
        "[[layout]]\npattern = 'x'\nside = 'reference'\nslice = [[3, 3], [0, 4]]\n"
        "[[layout]]\npattern = 'x'\nslice = [[5, 5], [0, 4]]\n");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--rules", "builtin"}}) {
    std::vector<std::string> arguments = {"compare", "a", "a", "--map", "cut.toml", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto cut = Lines(arguments, 1);
    EXPECT_EQ(cut[0]["status"], "failed");
    EXPECT_THAT(cut[0]["reasons"][0].get<std::string>(),
                HasSubstr("the map leaves [0, 4] of [8, 4]: nothing was compared"));
  }
}

TEST_F(CompareTest, MapsNamesAndLayouts) {
  const Values x = Wave("conv", {2, 3, 4});
  Values t{"model.conv", {2, 4, 4}, std::vector<float>(32, 99)};  // NHWC with one channel of padding
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      for (int h = 0; h < 4; ++h)
        t.v[static_cast<size_t>((n * 4 + h) * 4 + c)] = x.v[static_cast<size_t>((n * 3 + c) * 4 + h)];
    }
  }
  Save("a.safetensors", {x});
  Save("b.safetensors", {t});
  Write("m.toml",
        "[[name]]\npattern = 'model\\.(.*)'\nto = '\\1'\n"
        "[[layout]]\npattern = 'conv'\nslice = [[0, 2], [0, 4], [0, 3]]\npermute = [0, 2, 1]\n");
  const auto lines = Lines({"compare", "a.safetensors", "b.safetensors", "--map", "m.toml", "--json"}, 0);
  EXPECT_EQ(lines[0]["tensor"], "conv");
  EXPECT_EQ(lines[0]["candidate_name"], "model.conv");
  EXPECT_EQ(lines[0]["unequal"], 0);
  Write("m.json", R"({"name": [{"from": "model.conv", "to": "conv"}]})");
  EXPECT_THAT(Run({"compare", "a.safetensors", "b.safetensors", "--map", "m.json"}).out,
              HasSubstr("shape [2, 4, 4] against [2, 3, 4]"));
}

TEST_F(CompareTest, RefusesBadMaps) {
  Save("a.safetensors", {Wave("x", {8}), Wave("y", {8})});
  const auto refuse = [&](const std::string& text, const std::string& message) {
    Write("m.toml", text);
    ExpectError({"compare", "a.safetensors", "a.safetensors", "--map", "m.toml"}, 2, message);
  };
  refuse("[[name]]\nfrom = 'x'\nto = 'y'\n[[name]]\nfrom = 'y'\nto = 'x'\n",
         "m.toml: the names lead in a circle: \"x\" -> \"y\" -> \"x\"; each name can change once");
  refuse("[[name]]\npattern = '.*'\nto = 'z'\n", "m.toml: \"x\" and \"y\" both become \"z\"");
  refuse("[[name]]\npattern = '('\nto = 'z'\n",
         "m.toml: name[0] \"pattern\" \"(\" is no regular expression: missing ): (");
  refuse("[[name]]\nto = 'z'\n", "m.toml: name[0] needs either \"from\" or \"pattern\"");
  refuse("[[names]]\nto = 'z'\n",
         "m.toml: has the key \"names\"; lists called name, layout and ranks are expected");
  refuse("[[layout]]\npattern = 'x'\n",
         "m.toml: layout[0] does nothing; reshape, slice or permute is expected");
  refuse("[[layout]]\npattern = 'x'\npermute = [0, 2]\n",
         "m.toml: layout[0] \"permute\" is no order of 0 to 1");
  refuse("[[layout]]\npattern = 'x'\npermute = [1, 0]\n",
         "m.toml: layout[0] permutes 2 dimensions, but \"x\" is [8]");
  refuse("[[layout]]\npattern = 'x'\nreshape = [3, -1]\n",
         "m.toml: layout[0] reshapes \"x\" [8] to [3, -1], which does not hold as many elements");
  refuse("[[layout]]\npattern = 'x'\nslice = [[0, 9]]\n",
         "m.toml: layout[0] slices \"x\", which is [8]; a range inside each dimension is expected");
}

TEST_F(CompareTest, ComparesCaptures) {
  Values x = Wave("net.0", {8, 16}), y = Wave("net.1", {8, 16}, 2);
  Capture("ref", {x, y});
  x.v[5] = NAN;
  Capture("out", {x, y});
  const auto lines = Lines({"compare", "ref", "out", "--json"}, 1);
  EXPECT_EQ(lines[0]["tensor"], "net.0:out0@0");
  EXPECT_EQ(lines[0]["op"], "linear");
  EXPECT_EQ(lines[0]["nan_mismatch"], 1);
  EXPECT_EQ(lines[2]["first_failed"], "net.0:out0@0");
  EXPECT_EQ(Lines({"compare", "ref", "ref", "--json", "--digest"}, 0).back()["verdict"], "pass");
  // Statistics alone prove nothing.
  Capture("stats", {Wave("net.0", {8, 16}), y}, 0, 1, std::string(64, 'a'), false);
  const auto unproven = Lines({"compare", "ref", "stats", "--json"}, 1);
  EXPECT_EQ(unproven[0]["status"], "unproven");
  EXPECT_EQ(unproven.back()["compared"], 0);
}

TEST_F(CompareTest, RefusesCapturesOfOtherInputs) {
  Capture("ref", {Wave("x", {8})});
  Capture("out", {Wave("x", {8})}, 0, 1, std::string(64, 'b'));
  ExpectError({"compare", "ref", "out"}, 2,
              "out: was captured with other inputs than ref (sha256 bbbbbbbbbbbb and aaaaaaaaaaaa); captures "
              "of the same "
              "inputs are expected, --allow-different compares them all the same");
  EXPECT_EQ(Run({"compare", "ref", "out", "--allow-different"}).exit_code, 0);
}

TEST_F(CompareTest, JudgesAllRanks) {
  const Values whole = Wave("w", {4, 6});
  const auto part = [&](int64_t rank) {
    Values p{"w", {4, 3}, {}};
    for (size_t r = 0; r < 4; ++r) {
      for (size_t c = 0; c < 3; ++c) p.v.push_back(whole.v[r * 6 + static_cast<size_t>(rank) * 3 + c]);
    }
    return p;
  };
  Capture("ref", {whole});
  std::filesystem::create_directory(Path("out"));
  Capture("out/rank0", {part(0)}, 0, 2);
  Write("m.toml", "[[ranks]]\npattern = 'w'\nconcatenate = [1]\n");
  // Rank 1 is announced and absent.
  const auto alone = Lines({"compare", "ref", "out", "--map", "m.toml", "--json"}, 1);
  EXPECT_EQ(alone[0]["status"], "passed");
  EXPECT_EQ(alone[1]["tensor"], "(rank 1)");
  EXPECT_EQ(alone[1]["status"], "missing");
  Values wrong = part(1);
  Capture("out/rank1", {wrong}, 1, 2);
  EXPECT_EQ(Lines({"compare", "ref", "out", "--map", "m.toml", "--json"}, 0).back()["verdict"], "pass");
  std::filesystem::remove_all(Path("out/rank1"));
  wrong.v[11] += 1;
  Capture("out/rank1", {wrong}, 1, 2);
  const auto lines = Lines({"compare", "ref", "out", "--map", "m.toml", "--json"}, 1);
  EXPECT_EQ(lines[1]["rank"], 1);
  EXPECT_EQ(lines[1]["status"], "failed");
  EXPECT_EQ(lines.back()["worst_rank"], 1);
}

TEST_F(CompareTest, TellsTheArithmeticOfEachSide) {
  Values x = Wave("x", {40, 40});
  std::vector<double> truth(x.v.begin(), x.v.end());
  for (size_t i = 0; i < truth.size(); ++i) truth[i] = x.v[i] * (1 + 3e-8 * std::sin(static_cast<double>(i)));
  const std::vector<ConstTensorRef> refs = {{"x", DType::kF64, x.dims,
                                             reinterpret_cast<const std::byte*>(truth.data()),
                                             static_cast<int64_t>(truth.size() * 8)}};
  ASSERT_TRUE(formats::WriteSafetensors(Path("t.safetensors"), refs).ok());
  Save("a.safetensors", {x});
  for (size_t i = 0; i < x.v.size(); ++i) x.v[i] *= 1 + 4e-4f * std::cos(1.7f * static_cast<float>(i));
  Save("b.safetensors", {x});
  const auto lines =
      Lines({"compare", "a.safetensors", "b.safetensors", "--truth", "t.safetensors", "--json"}, 1);
  EXPECT_EQ(lines[0]["reference_level"], "f32");
  EXPECT_EQ(lines[0]["candidate_level"], "tf32 or f16");
  EXPECT_THAT(lines[0]["findings"].dump(), HasSubstr("the candidate shows the error of tf32 or f16"));
}

TEST_F(CompareTest, WarnsOfOtherTypes) {
  const Values x = Wave("x", {64});
  Save("a.safetensors", {x});
  std::vector<double> wide(x.v.begin(), x.v.end());
  const std::vector<ConstTensorRef> refs = {{"x", DType::kF64, x.dims,
                                             reinterpret_cast<const std::byte*>(wide.data()),
                                             static_cast<int64_t>(wide.size() * 8)}};
  ASSERT_TRUE(formats::WriteSafetensors(Path("b.safetensors"), refs).ok());
  const auto lines = Lines({"compare", "a.safetensors", "b.safetensors", "--json"}, 0);
  EXPECT_EQ(lines[0]["status"], "warned");
  EXPECT_EQ(lines[0]["reasons"][0], "type f64 against f32");
  EXPECT_EQ(lines[1]["verdict"], "warn");
}

TEST_F(CompareTest, RefusesBadUse) {
  Save("a.safetensors", {Wave("x", {8})});
  ExpectError({"compare", "a.safetensors", "none.safetensors"}, 2,
              "none.safetensors: cannot be opened: No such file or directory");
  std::filesystem::create_directory(Path("empty"));
  ExpectError({"compare", "a.safetensors", "empty"}, 2,
              "empty: holds neither a capture (capture.json) nor model.safetensors nor its index");
  Write("cut.safetensors", Read("a.safetensors").substr(0, 60));
  EXPECT_EQ(Run({"compare", "a.safetensors", "cut.safetensors"}).exit_code, 2);
  ExpectError({"compare", "a.safetensors", "a.safetensors", "--class", "Q"}, 2,
              "class \"Q\" is unknown; there are A, A', B, C, D, E, F, G, G', H, I, I', J and K");
  ExpectError({"compare", "a.safetensors", "a.safetensors", "--canary", "0xzz"}, 2,
              "--canary 0xzz: up to 16 hexadecimal digits are expected");
  ExpectError({"compare", "a.safetensors", "a.safetensors", "--k", "0"}, 2,
              "--k 0: the length of the reductions, 1 or more, is expected");
  ExpectError({"compare", "a.safetensors", "a.safetensors", "--only", "("}, 2,
              "--only \"(\" is no regular expression: missing ): (");
}

}  // namespace
}  // namespace plinth::cli
