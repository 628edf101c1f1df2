// What two captures must have in common, and what a search says and refuses about them.
#include "plinth/base/files.h"
#include "plinth/verify/locate_fixture.h"

namespace plinth::verify {
namespace {

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
  MadeRun drifted;
  drifted.layers = 6;
  drifted.error = From(2, 0.05);
  Write("a1", MadeRun{.layers = 6});
  Write("a2", drifted);
  ASSERT_TRUE(WriteFile(Path("none.toml"), "[[layout]]\npattern = '.*'\nslice = [[0, 0], [0, 32]]\n").ok());
  EXPECT_THAT(Refusal("a1", "a2", [&](LocateOptions& o) { o.map = Path("none.toml"); }),
              HasSubstr("the map leaves no element of"));
  EXPECT_THAT(Refusal("a", "b",
                      [&](LocateOptions& o) {
                        mapped(o);
                        o.rerun = [](const Rerun&, const std::string&) { return absl::OkStatus(); };
                      }),
              HasSubstr("a map renames what was captured"));
}

// What only one side recorded is named, since nothing is said about it.
TEST_F(LocateTest, SaysWhatTheCandidateLacks) {
  MadeRun run;
  run.layers = 4;
  Write("a", run);
  run.every = 2;
  Write("b", run);
  const LocateResult result = Find("a", "b");
  EXPECT_TRUE(result.good());
  EXPECT_THAT(result.notes,
              testing::Contains("the candidate lacks 2 outputs that the reference has, the first of "
                                "them \"encoder.block.0\": nothing is said about them"));
  EXPECT_THAT(Find("b", "a").notes, testing::IsEmpty());
}

}  // namespace
}  // namespace plinth::verify
