#include "plinth/verify/locate.h"

#include <cmath>

#include "plinth/verify/layer_chain.h"
#include "plinth/verify/locate_fixture.h"

namespace plinth::verify {
namespace {

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
