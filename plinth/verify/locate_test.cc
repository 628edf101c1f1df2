#include "plinth/verify/locate.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/files.h"
#include "plinth/formats/json.h"
#include "plinth/tensor/half.h"
#include "plinth/tensor/tensor.h"
#include "plinth/verify/layer_chain.h"

namespace plinth::verify {
namespace {

using formats::CaptureEntry;
using formats::CaptureInfo;
using formats::CaptureWriter;
using formats::JsonValue;
using testing::HasSubstr;

// What an invented run computes: for each layer the relative error in its output, in a free run.
struct MadeRun {
  int layers = 64;
  std::function<double(int)> error = [](int) { return 0.0; };
  bool full = true;
  bool inside = false;     // a layer's parts too: norm, q, attention and its operators
  std::string wrong_part;  // the part in which the error begins; parts before it agree
  int wrong_layer = -1;    // where it does
  DType dtype = DType::kF32;
  int every = 1;       // record every so many layers
  uint64_t noise = 0;  // seed of the error's pattern
  std::string framework = "torch";
  std::string model_digest, inputs_digest;
  bool forced = false;
  int64_t rank = 0, world = 1;
  JsonValue precision;
  std::string prefix = "encoder.block.";
  bool transposed = false;  // what is [24, 32] lies as [32, 24]
};

class LocateTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_locate_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // A value of `name`, equal in every run but for an error of that relative size.
  static Tensor Value(const std::string& name, double error, const MadeRun& run) {
    constexpr int64_t kRows = 24, kColumns = 32;
    Tensor t(run.dtype, {kRows, kColumns});
    std::mt19937_64 random(std::hash<std::string>()(name));
    std::mt19937_64 pattern(run.noise + 17 * std::hash<std::string>()(name));
    std::normal_distribution<double> normal, other;  // each keeps numbers of its own engine
    for (int64_t i = 0; i < t.size(); ++i) {
      const double base = normal(random);
      const double x = base + error * other(pattern);
      if (run.dtype == DType::kBF16) {
        t.data<BFloat16>()[i] = ToBFloat16(static_cast<float>(x));
      } else if (run.dtype == DType::kF16) {
        t.data<Half>()[i] = ToHalf(static_cast<float>(x));
      } else {
        t.data<float>()[i] = static_cast<float>(x);
      }
    }
    return t;
  }

  static Tensor Transposed(const Tensor& t) {
    const int64_t rows = t.dims()[0], columns = t.dims()[1];
    Tensor out(DType::kF32, {columns, rows});
    for (int64_t i = 0; i < t.size(); ++i) {
      out.data<float>()[i % columns * rows + i / columns] = t.data<float>()[i];
    }
    return out;
  }

  // Sets the last bytes of the capture's only tensor file to zero: after the fact, so that no digest knows.
  void SpoilEnd(const std::string& name) const {
    const std::string file = Path(name) + "/tensors-00001-of-00001.safetensors";
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(-64, std::ios::end);
    out.write(std::string(64, '\0').data(), 64);
    ASSERT_TRUE(out.good());
  }

  void Write(const std::string& name, const MadeRun& run) const {
    CaptureInfo info;
    info.producer = JsonValue(
        JsonValue::Object{{"name", JsonValue(std::string("test"))}, {"framework", JsonValue(run.framework)}});
    info.model_name = "m";
    info.model_digest = run.model_digest;
    info.inputs_digest = run.inputs_digest;
    info.forced = run.forced;
    info.rank = run.rank;
    info.world = run.world;
    info.precision = run.precision;
    auto writer = CaptureWriter::Create(Path(name), info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto add = [&](const std::string& entry_name, const std::string& op, double error) {
      CaptureEntry entry;
      entry.name = entry_name;
      entry.op = op;
      // Values go by the name that all runs share.
      const bool layer = entry_name.starts_with(run.prefix);
      const Tensor value = Value(
          layer ? StrCat("encoder.block.", entry_name.substr(run.prefix.size())) : entry_name, error, run);
      ASSERT_TRUE(
          writer->Add(entry, run.transposed ? Transposed(value).view() : value.view(), run.full).ok());
    };
    add("embed", "embedding", 0);
    for (int i = 0; i < run.layers; ++i) {
      const std::string at = StrCat(run.prefix, i);
      if (run.inside) {
        // Of the wrong layer: right up to the wrong part. Of later ones: the drift that came in.
        bool wrong = i > run.wrong_layer && run.wrong_layer >= 0;
        for (const char* part : {"/norm.0", ".attn.q", ".attn/softmax.0", ".attn.o", ".mlp"}) {
          wrong = wrong || (i == run.wrong_layer && part == run.wrong_part);
          const std::string text = part;
          const size_t slash = text.find('/');
          const std::string op =
              slash == text.npos ? "module" : text.substr(slash + 1, text.size() - slash - 3);
          add(at + part, op, wrong ? run.error(i) : 0);
        }
      }
      if ((i + 1) % run.every == 0) add(at, "module", run.error(i));
    }
    add("encoder.final_norm", "layer_norm", run.error(run.layers - 1));
    ASSERT_TRUE(writer->Finish().ok());
  }

  LocateResult Find(const std::string& reference, const std::string& output,
                    const std::function<void(LocateOptions&)>& change = {}) const {
    LocateOptions options;
    options.reference = Path(reference);
    options.output = Path(output);
    if (change) change(options);
    const auto result = Locate(options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : LocateResult();
  }
  std::string Refusal(const std::string& reference, const std::string& output,
                      const std::function<void(LocateOptions&)>& change = {}) const {
    LocateOptions options;
    options.reference = Path(reference);
    options.output = Path(output);
    if (change) change(options);
    const auto result = Locate(options);
    if (result.ok()) return "accepted";
    EXPECT_EQ(ExitCode(result.status()), 2);
    return std::string(result.status().message());
  }
  std::string folder_;
};

std::function<double(int)> From(int layer, double error) {
  return [=](int i) { return i < layer ? 0 : error; };
}

TEST_F(LocateTest, EqualRunsHaveNoDrift) {
  Write("a", {});
  Write("b", {});
  const auto result = Find("a", "b");
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.verdict(), "pass");
  EXPECT_EQ(result.looks, 1);
  EXPECT_EQ(result.compared, 66);
  EXPECT_EQ(result.layers.size(), 66u);
  EXPECT_TRUE(result.next.records.empty());
}

// Every place of the fault in 64 layers, in about log2(64) = 6 looks.
TEST_F(LocateTest, FindsEveryLayerInFewLooks) {
  MadeRun reference;
  Write("a", reference);
  for (int k = 0; k < 64; k += 3) {
    MadeRun run;
    run.error = From(k, 1e-3);
    Write(StrCat("b", k), run);
    const auto result = Find("a", StrCat("b", k));
    ASSERT_FALSE(result.good()) << k;
    EXPECT_EQ(result.first_drift->name, StrCat("encoder.block.", k));
    EXPECT_EQ(result.first_drift->layer, k);
    EXPECT_LE(result.looks, 9) << k;
    EXPECT_NEAR(*result.first_drift->free, 1e-3, 3e-4);
    EXPECT_EQ(result.first_drift->by, Drift::By::kTensors);
  }
}

TEST_F(LocateTest, StatisticsAloneSuffice) {
  MadeRun reference;
  reference.full = false;
  Write("a", reference);
  for (const int k : {0, 7, 8, 40, 63}) {
    MadeRun run = reference;
    run.error = From(k, 0.05);
    Write(StrCat("b", k), run);
    const auto result = Find("a", StrCat("b", k));
    ASSERT_FALSE(result.good()) << k;
    EXPECT_EQ(result.first_drift->layer, k);
    EXPECT_EQ(result.first_drift->by, Drift::By::kStatistics);
    EXPECT_LE(*result.first_drift->free, 0.06);  // a lower bound
    EXPECT_LE(result.looks, 9);
    EXPECT_THAT(ToText(result, 100, true), HasSubstr("by statistics at least"));
  }
}

// A bound is never above what it bounds.
TEST_F(LocateTest, TheBoundByStatisticsIsOne) {
  for (const double error : {1e-6, 1e-4, 1e-2, 0.5, 3.0}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      MadeRun run;
      run.noise = seed;
      const Tensor a = Value("x", 0, run), b = Value("x", error, run);
      double sum = 0, norm = 0;
      for (int64_t i = 0; i < a.size(); ++i) {
        const double x = a.data<float>()[i], y = b.data<float>()[i];
        sum += (y - x) * (y - x), norm += x * x;
      }
      EXPECT_LE(DriftBound(formats::StatsOf(a.view()), formats::StatsOf(b.view())),
                std::sqrt(sum / norm) * (1 + 1e-9));
    }
  }
}

// Rounding as another machine has it: 3e-7 in f32, a unit of bf16. By tensors and by statistics.
TEST_F(LocateTest, RoundingIsNoDrift) {
  const std::pair<DType, double> kinds[] = {{DType::kF32, 3e-7}, {DType::kF16, 3e-4}, {DType::kBF16, 2e-3}};
  for (const auto& [dtype, error] : kinds) {
    for (const bool full : {true, false}) {
      const std::string name = StrCat(DTypeName(dtype), full ? "full" : "statistics");
      MadeRun run;
      run.dtype = dtype;
      run.full = full;
      Write(name + "a", run);
      run.error = [e = error](int) { return e; };
      Write(name + "b", run);
      EXPECT_TRUE(Find(name + "a", name + "b").good()) << name;
    }
  }
}

// A layer in bf16 makes all that follows coarse, whatever its own type; a layer before it stays fine.
TEST_F(LocateTest, MixedPrecisions) {
  const auto write = [&](const std::string& name, double early, double late) {
    auto writer = CaptureWriter::Create(
        Path(name),
        CaptureInfo{.producer = JsonValue(JsonValue::Object{{"name", JsonValue(std::string("t"))}})});
    MadeRun f32, bf16;
    bf16.dtype = DType::kBF16;
    const auto add = [&](const std::string& entry_name, double error, const MadeRun& run) {
      CaptureEntry entry;
      entry.name = entry_name;
      entry.op = "module";
      ASSERT_TRUE(writer->Add(entry, Value(entry_name, error, run).view(), true).ok());
    };
    add("l.0", early, f32);
    add("l.1", late, bf16);
    add("l.2", late, f32);
    ASSERT_TRUE(writer->Finish().ok());
  };
  write("a", 0, 0);
  write("b", 0, 3e-3);
  EXPECT_TRUE(Find("a", "b").good());
  write("c", 1e-4, 3e-3);
  const LocateResult early_drift = Find("a", "c");
  ASSERT_TRUE(early_drift.first_drift.has_value());
  EXPECT_EQ(early_drift.first_drift->layer, 0);
  write("d", 0, 3e-2);
  const LocateResult late_drift = Find("a", "d");
  ASSERT_TRUE(late_drift.first_drift.has_value());
  EXPECT_EQ(late_drift.first_drift->layer, 1);
}

TEST_F(LocateTest, NamesTheOperator) {
  MadeRun reference;
  reference.inside = true;
  reference.layers = 12;
  Write("a", reference);
  for (const char* part : {"/norm.0", ".attn.q", ".attn/softmax.0", ".mlp"}) {
    MadeRun run = reference;
    run.wrong_layer = 5;
    run.wrong_part = part;
    run.error = From(5, 1e-3);
    const std::string name = StrCat("b", std::hash<std::string>()(part));
    Write(name, run);
    const auto result = Find("a", name);
    ASSERT_FALSE(result.good());
    EXPECT_EQ(result.first_drift->name, StrCat("encoder.block.5", part));
    EXPECT_EQ(result.first_drift->module, "encoder.block.5");
    EXPECT_EQ(result.first_drift->layer, 5);
  }
  MadeRun run = reference;
  run.wrong_layer = 3;
  run.wrong_part = ".attn/softmax.0";
  run.error = From(3, 1e-3);
  Write("s", run);
  const LocateResult softmax = Find("a", "s");
  ASSERT_TRUE(softmax.first_drift.has_value());
  EXPECT_EQ(softmax.first_drift->op, "softmax");
}

TEST_F(LocateTest, ADriftThatLaterLayersWashOutIsFound) {
  MadeRun reference;
  Write("a", reference);
  MadeRun run;
  run.error = [](int i) { return i == 20 ? 0.1 : 0.0; };
  Write("b", run);
  const auto result = Find("a", "b");
  ASSERT_FALSE(result.good());
  EXPECT_EQ(result.first_drift->layer, 20);
}

// Free running amplifies what layer 9 did; forced runs show that layers behind it are right.
TEST_F(LocateTest, ForcedRunsSeparateOwnErrorsFromInheritedOnes) {
  MadeRun reference;
  reference.layers = 24;
  Write("a", reference);
  MadeRun free = reference;
  free.error = [](int i) { return i < 9 ? 0 : 1e-4 * std::pow(1.5, i - 9); };
  ASSERT_TRUE(MakeFolders(Path("out")).ok());
  Write("out/free", free);
  MadeRun forced = reference;
  forced.forced = true;
  forced.error = [](int i) { return i == 9 ? 1e-4 : 2e-8; };
  Write("out/forced", forced);
  const auto result = Find("a", "out");
  ASSERT_FALSE(result.good());
  EXPECT_EQ(result.first_drift->layer, 9);
  EXPECT_FALSE(result.first_drift->accumulated);
  EXPECT_NEAR(*result.first_drift->local, 1e-4, 3e-5);
  const LayerDrift& later = result.layers[1 + 15];  // behind the embedding
  EXPECT_EQ(later.layer, 15);
  EXPECT_FALSE(later.local->significant());
  EXPECT_TRUE(later.free->significant());
  EXPECT_NEAR(*later.amplification, 1.5, 0.2);
}

// No layer is wrong by itself, and yet the sum is beyond the limit.
TEST_F(LocateTest, AccumulatedDriftIsCalledThat) {
  MadeRun reference;
  reference.layers = 40;
  Write("a", reference);
  MadeRun free = reference;
  free.error = [](int i) { return 1e-6 * (i + 1); };
  ASSERT_TRUE(MakeFolders(Path("out")).ok());
  Write("out/free", free);
  MadeRun forced = reference;
  forced.forced = true;
  forced.error = [](int) { return 1e-6; };
  Write("out/forced", forced);
  const auto result = Find("a", "out");
  ASSERT_FALSE(result.good());
  EXPECT_TRUE(result.first_drift->accumulated);
  EXPECT_NEAR(static_cast<double>(*result.first_drift->layer), 9, 2);
  EXPECT_THAT(ToText(result, 100, true), HasSubstr("drift adds up and exceeds its limit first at"));
}

// Repeats of the reference make the band: 2e-5 is drift beside runs that differ by 1e-8, none beside 3e-5.
TEST_F(LocateTest, RepeatsMakeTheBand) {
  for (const double band : {1e-8, 3e-5}) {
    const std::string at = StrCat("band", band, "/");
    ASSERT_TRUE(MakeFolders(Path(at)).ok());
    for (uint64_t i = 0; i < 3; ++i) {
      MadeRun run;
      run.layers = 6;
      run.noise = i;
      run.error = [=](int) { return band; };
      Write(StrCat(at, "r", i), run);
    }
    MadeRun run;
    run.layers = 6;
    run.noise = 9;
    run.error = [](int) { return 2e-5; };
    Write(StrCat("out", band), run);
    EXPECT_EQ(Find(at, StrCat("out", band)).good(), band > 1e-6) << band;
  }
}

TEST_F(LocateTest, TheWorstRankDecides) {
  for (const char* side : {"a", "b"}) {
    ASSERT_TRUE(MakeFolders(Path(side)).ok());
    for (int64_t rank = 0; rank < 2; ++rank) {
      MadeRun run;
      run.layers = 8;
      run.rank = rank;
      run.world = 2;
      if (*side == 'b' && rank == 1) run.error = From(3, 1e-3);
      Write(StrCat(side, "/", rank), run);
    }
  }
  const auto result = Find("a", "b");
  ASSERT_FALSE(result.good());
  EXPECT_EQ(result.first_drift->rank, 1);
  EXPECT_EQ(result.first_drift->layer, 3);
  std::filesystem::remove_all(Path("b/1"));
  EXPECT_THAT(Refusal("a", "b"), HasSubstr("lacks rank 1 of 2; every rank has a capture of its own"));
  MadeRun alone;
  alone.layers = 8;
  Write("c", alone);
  EXPECT_THAT(Refusal("a", "c"), HasSubstr("is of a run on 1 ranks, and the first capture of one on 2"));
}

TEST_F(LocateTest, NotANumberIsADrift) {
  MadeRun reference;
  reference.layers = 4;
  Write("a", reference);
  MadeRun run = reference;
  run.error = [](int i) { return i < 2 ? 0 : NAN; };
  Write("b", run);
  auto result = Find("a", "b");
  EXPECT_EQ(result.first_drift->layer, 2);
  EXPECT_THAT(result.first_drift->note, HasSubstr("768 elements are NaN on one side only, the first at 0"));
  EXPECT_TRUE(formats::ParseJson(ToJson(result), "j").ok());
  reference.full = run.full = false;
  Write("as", reference);
  Write("bs", run);
  result = Find("as", "bs");
  EXPECT_EQ(result.first_drift->layer, 2);
  EXPECT_THAT(result.first_drift->note, HasSubstr("NaN 0 and 768"));
}

TEST_F(LocateTest, RefusesOtherModelsAndInputs) {
  MadeRun a, b, c;
  a.layers = b.layers = c.layers = 2;
  a.model_digest = std::string(64, '1'), b.model_digest = std::string(64, '2');
  a.inputs_digest = b.inputs_digest = std::string(64, '3'), c.inputs_digest = std::string(64, '4');
  Write("a", a);
  Write("b", b);
  Write("c", c);
  EXPECT_EQ(
      Refusal("a", "b"),
      StrCat(Path("b"), ": is of another model: \"m\" with digest 2222222222222222..., and ", Path("a"),
             " of \"m\" with 1111111111111111...; captures of one model are expected (--any-model compares "
             "all the same)"));
  EXPECT_EQ(
      Refusal("a", "c"),
      StrCat(Path("c"), ": is of other inputs, with digest 4444444444444444..., and ", Path("a"),
             " of 3333333333333333...; captures of the same inputs are expected (--any-inputs compares all "
             "the same)"));
  EXPECT_TRUE(Find("a", "b", [](LocateOptions& o) { o.any_model = true; }).good());
  EXPECT_TRUE(Find("a", "c", [](LocateOptions& o) { o.any_inputs = true; }).good());
  // Two frameworks name inputs by different digests.
  c.framework = "plinth";
  Write("d", c);
  const auto result = Find("a", "d");
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes[0], HasSubstr("cannot be compared between torch and plinth"));
}

TEST_F(LocateTest, NothingInCommonIsAnError) {
  Write("a", {.layers = 2});
  auto writer = CaptureWriter::Create(
      Path("b"),
      CaptureInfo{.producer = JsonValue(JsonValue::Object{{"name", JsonValue(std::string("t"))}})});
  CaptureEntry entry;
  entry.name = "other";
  entry.op = "module";
  ASSERT_TRUE(writer->Add(entry, Value("x", 0, {}).view(), true).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(
      Refusal("a", "b"),
      StrCat(Path("a"), " and ", Path("b"),
             " have nothing in common that can be compared: the one begins with \"embed:out0@0\", the other "
             "with \"other:out0@0\"; entries of equal name, direction, port and step are expected"));
  Write("f", {.layers = 2, .forced = true});
  EXPECT_THAT(Refusal("f", "a"), HasSubstr("holds forced runs alone"));
  EXPECT_THAT(Refusal("a", "no"), HasSubstr("there is no such folder"));
}

// Every 8th layer, then those between, then all of the one, then its replacement.
TEST_F(LocateTest, AsksForWhatItNeedsNext) {
  MadeRun reference;
  reference.full = false;
  reference.every = 8;
  Write("a8", reference);
  MadeRun run = reference;
  run.error = From(19, 0.05);
  Write("b8", run);
  auto result = Find("a8", "b8");
  EXPECT_EQ(result.first_drift->layer, 23);
  ASSERT_EQ(result.next.records.size(), 8u);
  EXPECT_EQ(result.next.records[0].name, "encoder.block.16");
  EXPECT_EQ(result.next.records[7].name, "encoder.block.23");
  EXPECT_FALSE(result.next.records[0].full);
  reference.every = run.every = 1;
  Write("a1", reference);
  Write("b1", run);
  result = Find("a1", "b1");
  EXPECT_EQ(result.first_drift->layer, 19);
  ASSERT_EQ(result.next.records.size(), 2u);
  EXPECT_EQ(result.next.records[0].name, "encoder.block.19");
  EXPECT_EQ(result.next.records[1].name, "encoder.block.19.*");
  EXPECT_TRUE(result.next.records[0].full && result.next.records[0].operators &&
              result.next.records[0].inputs);
  reference.full = run.full = reference.inside = run.inside = true;
  run.wrong_layer = 19;
  run.wrong_part = ".attn.q";
  Write("a", reference);
  Write("b", run);
  result = Find("a", "b");
  ASSERT_EQ(result.next.replacements.size(), 1u);
  EXPECT_EQ(result.next.replacements[0].name, "encoder.block.19.attn.q");
  EXPECT_EQ(result.next.replacements[0].capture, Path("a"));
  EXPECT_TRUE(formats::ParseCapturePlan(formats::ToToml(result.next), "p").ok());
}

// One layer in full on both sides, whose inputs agree: no layer before it needs to be looked at again.
TEST_F(LocateTest, AsksForNoMoreThanItNeeds) {
  const auto write = [&](const std::string& name, double in, double inside, double out, bool operators) {
    auto writer = CaptureWriter::Create(
        Path(name),
        CaptureInfo{.producer = JsonValue(JsonValue::Object{{"name", JsonValue(std::string("t"))}})});
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto add = [&](const std::string& entry_name, formats::CaptureDirection direction, double error) {
      CaptureEntry entry;
      entry.name = entry_name;
      entry.op = "module";
      entry.direction = direction;
      ASSERT_TRUE(writer->Add(entry, Value(entry_name, error, {}).view(), true).ok());
    };
    add("layers.5", formats::CaptureDirection::kInput, in);
    if (operators) add("layers.5.norm", formats::CaptureDirection::kOutput, inside);
    add("layers.5", formats::CaptureDirection::kOutput, out);
    ASSERT_TRUE(writer->Finish().ok());
  };
  write("a", 0, 0, 0, true);
  write("b", 0, 1e-3, 1e-3, true);
  LocateResult result = Find("a", "b");
  EXPECT_EQ(result.first_drift->name, "layers.5.norm");
  ASSERT_EQ(result.next.replacements.size(), 1u);
  EXPECT_EQ(result.next.replacements[0].name, "layers.5.norm");
  // All that was recorded inside agrees: what is left is the layer itself.
  write("c", 0, 0, 1e-3, true);
  result = Find("a", "c");
  EXPECT_EQ(result.first_drift->name, "layers.5");
  ASSERT_EQ(result.next.replacements.size(), 1u);
  EXPECT_EQ(result.next.replacements[0].name, "layers.5");
  // Nothing inside is known: it is asked for.
  write("d", 0, 0, 0, false);
  write("e", 0, 0, 1e-3, false);
  result = Find("d", "e");
  ASSERT_EQ(result.next.records.size(), 2u);
  EXPECT_EQ(result.next.records[1].name, "layers.5.*");
  // What came in differs already: the layers before it.
  write("f", 1e-3, 1e-3, 1e-3, true);
  result = Find("a", "f");
  ASSERT_EQ(result.next.records.size(), 6u);
  EXPECT_EQ(result.next.records[0].name, "layers.0");
}

// Equal digests of tensors that are no longer equal.
TEST_F(LocateTest, RefusesTensorsThatWereChangedAfterwards) {
  MadeRun run;
  run.layers = 4;
  Write("a", run);
  Write("b", run);
  EXPECT_TRUE(Find("a", "b").good());
  SpoilEnd("b");
  const auto lazily = [](LocateOptions& o) { o.verified_bytes = 0; };
  for (const std::function<void(LocateOptions&)>& change :
       {std::function<void(LocateOptions&)>(), {lazily}}) {
    EXPECT_THAT(Refusal("a", "b", change), HasSubstr("the file was changed after it was written"));
    EXPECT_THAT(Refusal("b", "a", change), HasSubstr(StrCat(Path("b"), ": the tensor of entry")));
  }
  Write("c", run);
  const LocateResult result = Find("a", "c", lazily);
  EXPECT_TRUE(result.good());
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes[0], HasSubstr("only tensors that were compared were held against their digests"));
}

// bf16 where nobody declared it is drift by itself; declared, its own line counts, and the result says so.
TEST_F(LocateTest, WhatIsDeclaredDecidesTheLine) {
  MadeRun reference;
  reference.layers = 4;
  Write("a", reference);
  MadeRun run = reference;
  run.dtype = DType::kBF16;
  Write("quiet", run);
  LocateResult result = Find("a", "quiet");
  ASSERT_FALSE(result.good());
  EXPECT_EQ(result.first_drift->name, "embed");
  EXPECT_EQ(result.first_drift->note,
            "its type is bf16, the reference's f32, and the candidate's precision declares no bf16");
  EXPECT_THAT(result.notes,
              testing::Contains(HasSubstr("its precision declares no bf16: that counts as drift")));
  for (const char* key : {"weights", "autocast"}) {
    run.precision = JsonValue(JsonValue::Object{{key, JsonValue(std::string("bf16"))}});
    Write(StrCat("said-", key), run);
    result = Find("a", StrCat("said-", key));
    EXPECT_TRUE(result.good()) << key;
    EXPECT_THAT(result.notes,
                testing::Contains(HasSubstr("the candidate declares bf16 where the reference has f32, "
                                            "first at embed: differences up to 0.01")));
  }
  // Not behind its looser line either, by statistics alone.
  run.precision = JsonValue();
  run.full = false;
  Write("statistics", run);
  EXPECT_FALSE(Find("a", "statistics").good());
  // A finer type is no fault.
  EXPECT_TRUE(Find("said-weights", "a").good());
}

TEST_F(LocateTest, AMapBringsNamesAndLayoutsTogether) {
  MadeRun reference;
  reference.layers = 6;
  Write("a", reference);
  MadeRun run = reference;
  run.prefix = "h.";
  run.transposed = true;
  Write("b", run);
  run.error = From(3, 1e-3);
  Write("c", run);
  ASSERT_TRUE(WriteFile(Path("map.toml"),
                        "[[name]]\npattern = 'h\\.(\\d+)'\nto = 'encoder.block.\\1'\n"
                        "[[layout]]\npattern = '.*'\npermute = [1, 0]\n")
                  .ok());
  const auto mapped = [&](LocateOptions& o) { o.map = Path("map.toml"); };
  LocateResult result = Find("a", "b", mapped);
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.compared, 8);
  result = Find("a", "c", mapped);
  ASSERT_FALSE(result.good());
  EXPECT_EQ(result.first_drift->layer, 3);
  EXPECT_NEAR(*result.first_drift->free, 1e-3, 3e-4);
  // By names alone, where only statistics were taken.
  reference.full = run.full = run.transposed = false;
  Write("as", reference);
  run.error = From(2, 0.05);
  Write("bs", run);
  EXPECT_EQ(Find("as", "bs", mapped).first_drift->layer, 2);
  // What does not fit is refused.
  ASSERT_TRUE(WriteFile(Path("bad.toml"), "[[layout]]\npattern = '.*'\npermute = [1, 0, 2]\n").ok());
  EXPECT_THAT(Refusal("a", "b", [&](LocateOptions& o) { o.map = Path("bad.toml"); }),
              HasSubstr("permutes 3 dimensions, but \"encoder.final_norm\" is [32, 24]"));
  ASSERT_TRUE(WriteFile(Path("one.toml"), "[[name]]\npattern = 'h\\.\\d+'\nto = 'x'\n").ok());
  EXPECT_THAT(Refusal("a", "b", [&](LocateOptions& o) { o.map = Path("one.toml"); }),
              HasSubstr("both become \"x\""));
  EXPECT_THAT(Refusal("a", "b",
                      [&](LocateOptions& o) {
                        mapped(o);
                        o.rerun = [](const Rerun&, const std::string&) { return absl::OkStatus(); };
                      }),
              HasSubstr("a map renames what was captured"));
}

TEST_F(LocateTest, TellsItInJsonAndText) {
  MadeRun reference, run;
  reference.layers = run.layers = 3;
  run.error = From(1, 1e-2);
  Write("a", reference);
  Write("b", run);
  const auto result = Find("a", "b");
  const auto json = formats::ParseJson(ToJson(result), "j");
  ASSERT_TRUE(json.ok()) << json.status();
  const JsonValue* first = json->Find("first_drift");
  EXPECT_EQ(*first->Find("name")->text(), "encoder.block.1");
  EXPECT_EQ(*first->Find("op")->text(), "module");
  EXPECT_EQ(*first->Find("layer")->integer(), 1);
  EXPECT_TRUE(first->Find("rel_l2_local")->is_null());
  EXPECT_NEAR(*first->Find("rel_l2_free")->real(), 1e-2, 3e-3);
  EXPECT_TRUE(first->Find("amplification")->is_null());  // nothing came in
  EXPECT_EQ(json->Find("layers")->array()->size(), 5u);
  EXPECT_FALSE(json->Find("explored")->array()->empty());
  EXPECT_EQ(*json->Find("verdict")->text(), "fail");
  const std::string text = ToText(result, 80, true);
  EXPECT_THAT(text, HasSubstr("encoder.block.1"));
  EXPECT_THAT(text, HasSubstr("####"));
  EXPECT_THAT(text, HasSubstr("first drift at encoder.block.1 (module): relative L2"));
  size_t longest = 0, begin = 0;
  for (size_t end = text.find('\n'); end != text.npos; begin = end + 1, end = text.find('\n', begin)) {
    if (text[begin] == 'e') longest = std::max(longest, end - begin);
  }
  EXPECT_LE(longest, 80u);
}

TEST(LayerOf, TakesThePathUpToItsFirstNumber) {
  const auto of = [](std::string_view name, std::string_view op) {
    const LayerName layer = LayerOf(name, op);
    return StrCat(layer.module, " ", layer.layer.value_or(-1));
  };
  EXPECT_EQ(of("encoder.block.3.layer.0.q/linear.0", "linear"), "encoder.block.3 3");
  EXPECT_EQ(of("encoder.block.3", "module"), "encoder.block.3 3");
  EXPECT_EQ(of("encoder.final_norm", "layer_norm"), "encoder.final_norm -1");
  EXPECT_EQ(of("0", "linear"), "0 0");
  EXPECT_EQ(of("a.3.b#1", "module"), "a.3#1 3");
  EXPECT_EQ(of("a.3#1/softmax.0", "softmax"), "a.3#1 3");
  EXPECT_EQ(of("input/x.0", "input"), "input/x.0 -1");
  EXPECT_EQ(of("/softmax.2", "softmax"), "/softmax.2 -1");
  EXPECT_EQ(of("softmax.2", "softmax"), "softmax.2 -1");
  EXPECT_EQ(of("b.99999999999999999999", "module"), "b.99999999999999999999 -1");
}

}  // namespace
}  // namespace plinth::verify
