#include "plinth/formats/capture.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/digest.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"
#include "plinth/formats/json_writer.h"
#include "plinth/tensor/half.h"
#include "plinth/tensor/tensor.h"

namespace plinth::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();

class CaptureTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_capture_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    at_ = folder_ + "/c";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // What is in the folder above the capture.
  std::vector<std::string> Left() const { return *ListFolder(folder_); }
  std::string folder_, at_;
};

CaptureInfo Info() {
  CaptureInfo info;
  info.producer = JsonValue(JsonValue::Object{{"name", JsonValue(std::string("plinth"))}});
  info.run_id = "r1";
  info.model_name = "m";
  return info;
}

Tensor Floats(const std::vector<float>& values) {
  Tensor t(DType::kF32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

CaptureEntry Named(std::string name) {
  CaptureEntry e;
  e.name = std::move(name);
  e.op = "module";
  return e;
}

// ---- statistics ----

TEST(StatsOf, CountsEveryKindOfFloat) {
  const Tensor t = Floats({1, -3, 0, -0.0f, NAN, kInf, -kInf, 1e-40f, 2});
  const TensorStats s = StatsOf(t.view());
  EXPECT_EQ(s.count, 9);
  EXPECT_EQ(s.finite, 6);
  EXPECT_EQ(s.nan, 1);
  EXPECT_EQ(s.pos_inf, 1);
  EXPECT_EQ(s.neg_inf, 1);
  EXPECT_EQ(s.zero, 2);
  EXPECT_EQ(s.subnormal, 1);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 2);
  EXPECT_DOUBLE_EQ(s.mean, 0);  // 1e-40 does not show
  EXPECT_DOUBLE_EQ(s.l2, std::sqrt(14.0));
  EXPECT_DOUBLE_EQ(s.std, std::sqrt(14.0 / 6));
}

TEST(StatsOf, ASmallSpreadSurvivesALargeMean) {
  // 1e6 + (-1, 0, 1, ...): the variance of -1, 0, 1 in equal parts is 2/3.
  Tensor t(DType::kF64, {3 * 5000});
  for (int64_t i = 0; i < t.size(); ++i) t.data<double>()[i] = 1e6 + static_cast<double>(i % 3 - 1);
  const TensorStats s = StatsOf(t.view());
  EXPECT_NEAR(s.std, std::sqrt(2.0 / 3), 1e-12);
  EXPECT_DOUBLE_EQ(s.mean, 1e6);
}

TEST(StatsOf, TheEndOfTheRangeOfDoublesDoesNotOverflow) {
  constexpr double kMost = std::numeric_limits<double>::max();
  Tensor t(DType::kF64, {4});
  for (int64_t i = 0; i < 4; ++i) t.data<double>()[i] = i % 2 == 0 ? kMost : -kMost;
  const TensorStats s = StatsOf(t.view());
  EXPECT_EQ(s.mean, 0);
  EXPECT_EQ(s.std, kMost);
  EXPECT_EQ(s.l2, kMost);  // twice that is no double
  t.data<double>()[1] = t.data<double>()[3] = kMost;
  EXPECT_EQ(StatsOf(t.view()).mean, kMost);
}

TEST(StatsOf, KnowsSubnormalNumbersOfEachType) {
  Tensor h(DType::kF16, {3});
  h.data<Half>()[0] = {1}, h.data<Half>()[1] = {0x03ff}, h.data<Half>()[2] = {0x0400};
  EXPECT_EQ(StatsOf(h.view()).subnormal, 2);
  EXPECT_EQ(StatsOf(h.view()).min, 0x1p-24);
  Tensor b(DType::kBF16, {2});
  b.data<BFloat16>()[0] = {1}, b.data<BFloat16>()[1] = {0x0080};
  EXPECT_EQ(StatsOf(b.view()).subnormal, 1);
  Tensor d(DType::kF64, {1});
  d.data<double>()[0] = 5e-324;
  EXPECT_EQ(StatsOf(d.view()).subnormal, 1);
  Tensor i(DType::kI64, {2});
  i.data<int64_t>()[0] = 0, i.data<int64_t>()[1] = -7;
  EXPECT_EQ(StatsOf(i.view()).subnormal, 0);
  EXPECT_EQ(StatsOf(i.view()).zero, 1);
  EXPECT_EQ(StatsOf(i.view()).min, -7);
}

TEST(StatsOf, StridesAndEmptyTensors) {
  Tensor t(DType::kF32, {4, 3});
  std::iota(t.data<float>(), t.data<float>() + 12, 0.0f);
  View column = t.view();
  column.dims[1] = 1;  // 0, 3, 6, 9
  const TensorStats s = StatsOf(column);
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.max, 9);
  EXPECT_DOUBLE_EQ(s.mean, 4.5);
  const TensorStats none = StatsOf(Tensor(DType::kF32, {0, 5}).view());
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(none.l2, 0);
  EXPECT_EQ(StatsOf(Tensor(DType::kBool, {}).view()).count, 1);
  const TensorStats nothing_finite = StatsOf(Floats({NAN, kInf}).view());
  EXPECT_EQ(nothing_finite.finite, 0);
  EXPECT_EQ(nothing_finite.max, 0);
}

TEST(StatsOf, EqualsTwoPassesInLongDouble) {
  // Lengths around the block's, with values that are not finite in between.
  for (const int64_t n : {1, 1023, 1024, 1025, 5000}) {
    Tensor t(DType::kF32, {n});
    long double sum = 0, squares = 0, m2 = 0;
    int64_t count = 0;
    const auto value = [](int64_t i) {
      return i % 97 == 5 ? NAN : 3.0f * std::sin(static_cast<float>(i)) + 100.0f;
    };
    for (int64_t i = 0; i < n; ++i) {
      const float x = t.data<float>()[i] = value(i);
      if (std::isnan(x)) continue;
      sum += x, squares += static_cast<long double>(x) * x, ++count;
    }
    const long double mean = sum / static_cast<long double>(count);
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isnan(t.data<float>()[i])) m2 += (t.data<float>()[i] - mean) * (t.data<float>()[i] - mean);
    }
    const TensorStats s = StatsOf(t.view());
    EXPECT_EQ(s.finite, count);
    EXPECT_NEAR(s.mean, static_cast<double>(mean), 1e-12);
    EXPECT_NEAR(s.l2, static_cast<double>(std::sqrt(squares)), 1e-9);
    EXPECT_NEAR(s.std, static_cast<double>(std::sqrt(m2 / static_cast<long double>(count))), 1e-12);
  }
}

// ---- writing and reading back ----

TEST_F(CaptureTest, ComesBackAsItWasWritten) {
  auto info = Info();
  info.forced = true;
  info.repeat = 3, info.seed = -5, info.rank = 1, info.world = 2;
  info.model_digest = std::string(64, 'a'), info.inputs_digest = std::string(64, 'b');
  info.precision = JsonValue(JsonValue::Object{{"default", JsonValue(std::string("f32"))}});
  const Tensor t = Floats({1, 2, 3}), u = Floats({NAN});
  {
    auto writer = CaptureWriter::Create(at_ + "/", info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    CaptureEntry e = Named("a.b");
    e.op = "softmax";
    e.attributes = JsonValue(JsonValue::Object{{"axis", JsonValue(int64_t{-1})}});
    e.layout = "packed";
    e.direction = CaptureDirection::kInput;
    e.port = 2, e.step = 7;
    ASSERT_TRUE(writer->Add(e, t.view(), true).ok());
    EXPECT_EQ(writer->last().tensor, "0");
    ASSERT_TRUE(writer->Add(Named("a.b"), u.view(), false).ok());
    CaptureEntry shared = Named("c");
    shared.tensor = "0";
    ASSERT_TRUE(writer->Add(shared, View{}, false).ok());
    writer->SetEnvironment(R"({"machine":"x"})");
    EXPECT_THAT(Left(), ElementsAre(HasSubstr(".plinth-")));  // nothing at its place yet
    ASSERT_TRUE(writer->Finish().ok());
  }
  EXPECT_THAT(Left(), ElementsAre("c"));
  const auto capture = Capture::Open(at_);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_EQ(capture->info().producer.Find("name")->text()[0], "plinth");
  EXPECT_TRUE(capture->info().forced);
  EXPECT_EQ(capture->info().repeat, 3);
  EXPECT_EQ(capture->info().seed, -5);
  EXPECT_EQ(capture->info().rank, 1);
  EXPECT_EQ(capture->info().inputs_digest, info.inputs_digest);
  EXPECT_EQ(*capture->info().precision.Find("default")->text(), "f32");
  EXPECT_EQ(*capture->environment().Find("machine")->text(), "x");
  ASSERT_EQ(capture->entries().size(), 3u);
  const CaptureEntry& a = capture->entries()[0];
  EXPECT_EQ(a.Key(), "a.b:in2@7");
  EXPECT_EQ(capture->Find("a.b:in2@7"), &a);
  EXPECT_EQ(capture->Find("a.b:in2@8"), nullptr);
  EXPECT_EQ(*a.attributes.Find("axis")->integer(), -1);
  EXPECT_EQ(a.layout, "packed");
  EXPECT_EQ(a.stats->l2, std::sqrt(14.0));
  EXPECT_EQ(a.digest, *Sha256Hex(std::string_view(reinterpret_cast<const char*>(t.raw()), 12)));
  ASSERT_NE(capture->Tensor(a), nullptr);
  EXPECT_EQ(std::memcmp(capture->Tensor(a)->data, t.raw(), 12), 0);
  EXPECT_EQ(capture->Tensor(capture->entries()[1]), nullptr);
  EXPECT_EQ(capture->entries()[1].stats->nan, 1);
  EXPECT_EQ(capture->Tensor(capture->entries()[2])->data, capture->Tensor(a)->data);
  EXPECT_EQ(capture->entries()[2].stats->l2, a.stats->l2);
  EXPECT_TRUE(capture->VerifyDigests().ok());
  EXPECT_TRUE(Capture::Open(at_ + "/capture.json").ok());
  EXPECT_EQ(OpenCaptures(folder_)->size(), 1u);
}

TEST_F(CaptureTest, ViewsWithGapsAreWrittenDense) {
  Tensor t(DType::kF32, {2, 3});
  std::iota(t.data<float>(), t.data<float>() + 6, 0.0f);
  View turned = t.view();
  std::swap(turned.dims[0], turned.dims[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  auto writer = CaptureWriter::Create(at_, Info());
  ASSERT_TRUE(writer->Add(Named("t"), turned, true).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto capture = Capture::Open(at_);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_THAT(capture->entries()[0].dims, ElementsAre(3, 2));
  std::vector<float> read(6);
  ASSERT_TRUE(ConvertTo(*capture->Tensor(capture->entries()[0]), DType::kF32, read.data()).ok());
  EXPECT_THAT(read, ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(CaptureTest, LargeTensorsAreStreamedWithRoomForTheHeader) {
  Tensor t(DType::kF32, {3 << 20});  // 12 MB, more than is held
  t.data<float>()[(3 << 20) - 1] = 5;
  auto writer = CaptureWriter::Create(at_, Info());
  ASSERT_TRUE(writer->Add(Named("small"), Floats({1}).view(), true).ok());
  ASSERT_TRUE(writer->Add(Named("large"), t.view(), true).ok());
  ASSERT_TRUE(writer->Add(Named("after"), Floats({2, 3}).view(), true).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto capture = Capture::Open(at_);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_TRUE(capture->VerifyDigests().ok());
  EXPECT_EQ(capture->entries()[1].stats->max, 5);
  float last = 0;
  std::memcpy(&last, capture->Tensor(capture->entries()[2])->data + 4, 4);
  EXPECT_EQ(last, 3);
}

TEST_F(CaptureTest, ManyTensorsMakeSeveralFiles) {
  auto writer = CaptureWriter::Create(at_, Info());
  Tensor t = Floats({4});
  // A header entry takes some 60 bytes and is allowed for with 2 kB at the end: 16000 fill a megabyte.
  for (int i = 0; i < 20000; ++i) {
    t.data<float>()[0] = static_cast<float>(i);
    ASSERT_TRUE(writer->Add(Named(StrCat("n", i)), t.view(), true).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_THAT(*ListFolder(at_), ElementsAre("capture.json", "tensors-00001-of-00002.safetensors",
                                            "tensors-00002-of-00002.safetensors"));
  const auto capture = Capture::Open(at_);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_EQ(capture->entries().size(), 20000u);
}

TEST_F(CaptureTest, EqualTensorsAreWrittenOnce) {
  auto writer = CaptureWriter::Create(at_, Info());
  const int64_t column[] = {2, 1};
  const Tensor t = Floats({1, 2});
  ASSERT_TRUE(writer->Add(Named("a"), t.view(), true).ok());
  ASSERT_TRUE(writer->Add(Named("b"), Floats({1, 2}).view(), true).ok());
  EXPECT_EQ(writer->last().tensor, "0");
  ASSERT_TRUE(writer->Add(Named("c"), DenseView(t.raw(), DType::kF32, column, 2), true).ok());
  EXPECT_EQ(writer->last().tensor, "2");  // another shape
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(Capture::Open(at_).ok());
}

TEST(SameOrder, GroupsOfDimensions) {
  const auto same = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    EXPECT_EQ(SameOrder(a, b), SameOrder(b, a));
    return SameOrder(a, b);
  };
  EXPECT_TRUE(same({2, 3, 8}, {6, 8}));
  EXPECT_TRUE(same({2, 3, 8}, {1, 2, 24}));
  EXPECT_TRUE(same({}, {1, 1}));
  EXPECT_TRUE(same({0, 4}, {0}));
  EXPECT_FALSE(same({2, 3, 8}, {3, 2, 8}));
  EXPECT_FALSE(same({6, 8}, {8, 6}));
  EXPECT_FALSE(same({2, 12}, {3, 8}));
  EXPECT_FALSE(same({2}, {3}));
  EXPECT_FALSE(same({0}, {1}));
}

TEST_F(CaptureTest, ADroppedWriterLeavesNothing) {
  {
    auto writer = CaptureWriter::Create(at_, Info());
    ASSERT_TRUE(writer->Add(Named("a"), Tensor(DType::kF32, {3 << 20}).view(), true).ok());
    EXPECT_EQ(Left().size(), 1u);
  }
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(CaptureTest, AFullDiskLeavesNothingAndSaysSo) {
  for (int nth = 1; nth <= 4; ++nth) {
    auto writer = CaptureWriter::Create(at_, Info());
    ASSERT_TRUE(writer.ok());
    Status status;
    {
      ScopedFault fault(Syscall::kWrite, nth, ENOSPC);
      status = writer->Add(Named("a"), Tensor(DType::kF32, {3 << 20}).view(), true);
      if (status.ok()) status = writer->Finish();
      EXPECT_EQ(fault.fired(), !status.ok()) << nth;
    }
    if (status.ok()) break;
    EXPECT_EQ(ExitCode(status), 3) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("No space left"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(at_ + "/"));
    EXPECT_EQ(writer->Finish(), status);  // and stays so
    *writer = *CaptureWriter::Create(folder_ + "/other", Info());
    EXPECT_EQ(Left().size(), 1u) << nth;
  }
}

TEST_F(CaptureTest, TheWriterRefusesWhatTheReaderWould) {
  ASSERT_TRUE(MakeFolders(at_).ok());
  EXPECT_THAT(std::string(CaptureWriter::Create(at_, Info()).status().message()),
              HasSubstr("exists already"));
  EXPECT_EQ(ExitCode(CaptureWriter::Create(at_, Info()).status()), 2);
  EXPECT_EQ(ExitCode(CaptureWriter::Create(folder_ + "/no/c", Info()).status()), 2);
  EXPECT_FALSE(CaptureWriter::Create("", Info()).ok());
  auto writer = CaptureWriter::Create(folder_ + "/d", Info());
  const Tensor t = Floats({1});
  EXPECT_FALSE(writer->Add(Named(""), t.view(), false).ok());
  EXPECT_FALSE(writer->Add(Named("a\nb"), t.view(), false).ok());
  EXPECT_FALSE(writer->Add(Named("\xff"), t.view(), false).ok());
  EXPECT_FALSE(writer->Add(Named(std::string(5000, 'x')), t.view(), false).ok());
  ASSERT_TRUE(writer->Add(Named("a"), t.view(), false).ok());
  EXPECT_THAT(std::string(writer->Add(Named("a"), t.view(), false).message()), HasSubstr("given twice"));
  EXPECT_TRUE(writer->Finish().ok());  // none of that spoiled the rest
}

// ---- what is refused ----

// A whole capture.json with one entry, and pieces to replace.
struct Pieces {
  std::string schema = R"("schema":"plinth.capture/1",)";
  std::string producer = R"("producer":{"name":"t"},)";
  std::string run = R"("run":{"id":"x","repeat":0,"seed":0,"mode":"free"},)";
  std::string ranks = R"("rank":0,"world":1,)";
  std::string model = R"("model":{"name":"m","digest":null},)";
  std::string inputs = R"("inputs":{"digest":null},)";
  std::string index = R"("index":0,)", name = R"("name":"a",)", op = R"("op":"linear",)";
  std::string direction = R"("direction":"output",)", port = R"("port":0,)";
  std::string shape = R"("shape":[2],)", dtype = R"("dtype":"f32",)";
  std::string stats =
      R"("stats":{"count":2,"finite":2,"nan":0,"pos_inf":0,"neg_inf":0,"zero":1,"subnormal":0,)"
      R"("min":0,"max":4,"mean":2,"std":2,"l2":4},)";
  std::string tensor = R"("tensor":null,)", digest = R"("digest":null)";
  std::string more;

  std::string Text() const {
    return StrCat("{", schema, producer, run, ranks, model, inputs, "\"entries\":[{", index, name, op,
                  direction, port, shape, dtype, stats, tensor, digest, "}", more, "]}");
  }
};

std::string Refusal(const Pieces& pieces) {
  const auto parsed = ParseCaptureJson(pieces.Text(), "c");
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}
// The refusal once one piece is replaced.
std::string With(std::string Pieces::*piece, std::string text) {
  Pieces pieces;
  pieces.*piece = std::move(text);
  return Refusal(pieces);
}
std::string WithStats(std::string_view from, std::string_view to) {
  Pieces pieces;
  const size_t at = pieces.stats.find(from);
  EXPECT_NE(at, std::string::npos);
  pieces.stats.replace(at, from.size(), to);
  return Refusal(pieces);
}

TEST(CaptureJson, TakesWhatIsOptionalAndMore) {
  EXPECT_EQ(Refusal({}), "accepted");
  EXPECT_EQ(With(&Pieces::ranks, R"("future":{"key":[1,2]},)"), "accepted");
  EXPECT_EQ(With(&Pieces::inputs, ""), "accepted");
  EXPECT_EQ(With(&Pieces::stats, ""), "accepted");
  EXPECT_EQ(With(&Pieces::stats, R"("stats":null,)"), "accepted");
  EXPECT_EQ(With(&Pieces::dtype, R"("dtype":"f8_e4m3",)"), "accepted");
  EXPECT_EQ(With(&Pieces::dtype, R"("dtype":"c64",)"), "accepted");
  EXPECT_EQ(With(&Pieces::digest, R"("layout":"nhwc","attributes":{"eps":1e-6},"step":3)"), "accepted");
  const auto parsed = ParseCaptureJson(Pieces().Text(), "c");
  EXPECT_EQ(parsed->entries[0].stats->std, 2);
  EXPECT_EQ(parsed->entries[0].step, 0);
}

TEST(CaptureJson, EntriesComeInTheOrderOfTheirIndex) {
  Pieces p;
  p.index = R"("index":5,)";
  p.more = R"(,{"index":2,"name":"b","op":"m","direction":"input","port":0,"shape":[],"dtype":"i64"})";
  const auto parsed = ParseCaptureJson(p.Text(), "c");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->entries[0].name, "b");
}

TEST(CaptureJson, RefusesAnotherSchema) {
  const std::string wanted = R"(; "plinth.capture/1" is expected)";
  EXPECT_EQ(With(&Pieces::schema, R"("schema":"plinth.capture/2",)"),
            R"(c: "schema" is "plinth.capture/2")" + wanted);
  EXPECT_EQ(With(&Pieces::schema, ""), R"(c: "schema" is missing)" + wanted);
  // Although its entries mean nothing to us either, and stand before it.
  EXPECT_EQ(ParseCaptureJson(R"({"entries":[7],"schema":"x"})", "c").status().message(),
            R"(c: "schema" is "x")" + wanted);
  EXPECT_EQ(ParseCaptureJson("[]", "c").status().message(),
            R"(c: is a list of 0; an object with "schema":"plinth.capture/1" is expected)");
}

TEST(CaptureJson, RefusesBrokenText) {
  const std::string whole = Pieces().Text();
  for (const size_t cut : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_FALSE(ParseCaptureJson(whole.substr(0, cut), "c").ok()) << cut;
  }
  EXPECT_THAT(With(&Pieces::name, R"("name":"a","name":"b",)"), HasSubstr(R"(the key "name" appears twice)"));
  EXPECT_THAT(With(&Pieces::model, R"("model":{},"model":{},)"),
              HasSubstr(R"(the key "model" appears twice)"));
}

TEST(CaptureJson, RefusesWrongHeads) {
  EXPECT_EQ(With(&Pieces::producer, ""), R"(c: "producer" is missing; an object is expected)");
  EXPECT_EQ(With(&Pieces::producer, R"("producer":{},)"),
            R"(c: producer: "name" is missing; text that is not empty is expected)");
  EXPECT_EQ(With(&Pieces::run, R"("run":7,)"), R"(c: "run" is 7; an object is expected)");
  EXPECT_EQ(With(&Pieces::run, R"("run":{"mode":"fast"},)"),
            R"(c: run: "mode" is "fast"; "free" or "forced" is expected)");
  EXPECT_EQ(With(&Pieces::run, R"("run":{"mode":"free","repeat":-1},)"),
            R"(c: run: "repeat" is -1; an integer in [0, 9007199254740992] is expected)");
  EXPECT_EQ(With(&Pieces::ranks, R"("rank":2,"world":2,)"),
            R"(c: "rank" is 2; an integer in [0, 1] is expected)");
  EXPECT_EQ(With(&Pieces::ranks, R"("world":0,)"),
            R"(c: "world" is 0; an integer in [1, 1048576] is expected)");
  EXPECT_EQ(With(&Pieces::model, R"("model":{"name":"m","digest":"abc"},)"),
            R"(c: model: "digest" is "abc"; 64 lower-case hex digits or null is expected)");
  EXPECT_EQ(With(&Pieces::inputs, R"("inputs":{"digest":5},)"),
            R"(c: inputs: "digest" is 5; text or null is expected)");
}

TEST(CaptureJson, RefusesWrongEntries) {
  const std::string at = "c: entries[0]: ";
  EXPECT_EQ(With(&Pieces::index, ""),
            at + R"("index" is missing; an integer in [0, 9007199254740992] is expected)");
  EXPECT_EQ(With(&Pieces::name, R"("name":"",)"), at + R"("name" is ""; text that is not empty is expected)");
  EXPECT_EQ(With(&Pieces::name, R"("name":"a\u0007",)"), at + R"("name" holds a control character: "a?")");
  EXPECT_EQ(With(&Pieces::op, R"("op":null,)"),
            at + R"("op" is missing; text that is not empty is expected)");
  EXPECT_EQ(With(&Pieces::direction, R"("direction":"up",)"),
            at + R"("direction" is "up"; "input" or "output" is expected)");
  EXPECT_EQ(With(&Pieces::port, R"("port":1.5,)"),
            at + R"("port" is 1.5; an integer in [0, 1048576] is expected)");
  EXPECT_EQ(With(&Pieces::shape, R"("shape":[-1],)"),
            at + R"("shape" holds -1; integers in [0, 2^53] are expected)");
  EXPECT_EQ(With(&Pieces::shape, R"("shape":[9000000000,9000000000],)"),
            at + R"("shape" is [9000000000, 9000000000], more than 2^53 elements)");
  EXPECT_EQ(With(&Pieces::shape, R"("shape":"2",)"),
            at + R"("shape" is "2"; a list of at most 64 integers is expected)");
  EXPECT_EQ(With(&Pieces::dtype, R"("dtype":"F32",)"),
            at + R"("dtype" is "F32"; an element type such as f32, bf16 or i64 is expected)");
  EXPECT_EQ(With(&Pieces::digest, R"("digest":"A")"),
            at + R"("digest" is "A"; 64 lower-case hex digits or null is expected)");
  EXPECT_EQ(With(&Pieces::digest, R"("attributes":[])"),
            at + R"("attributes" is a list of 0; an object or null is expected)");
  EXPECT_EQ(With(&Pieces::more, ",7"), "c: entries[1]: is 7; an object is expected");
  EXPECT_EQ(With(&Pieces::stats, R"("stats":[],)"),
            at + R"("stats" is a list of 0; an object or null is expected)");
  Pieces complex;
  complex.dtype = R"("dtype":"c64",)", complex.tensor = R"("tensor":"k",)";
  EXPECT_EQ(Refusal(complex), at + "has a tensor of type c64, which Plinth does not read");
}

TEST(CaptureJson, RefusesCountsThatContradictEachOther) {
  const std::string at = "c: entries[0]: ";
  EXPECT_EQ(WithStats(R"("count":2)", R"("count":3)"),
            at + R"("stats.count" is 3; the shape [2] has 2 elements)");
  EXPECT_EQ(WithStats(R"("nan":0)", R"("nan":1)"),
            at + R"("stats" counts 2 finite, 1 NaN, 0 and 0 infinite elements; their sum must be 2)");
  EXPECT_EQ(WithStats(R"("zero":1)", R"("zero":3)"),
            at + R"("stats" counts 3 zeros and 0 subnormal elements among 2 finite ones)");
  EXPECT_EQ(WithStats(R"("min":0)", R"("min":5)"),
            at + R"("stats" has min 5, mean 2 and max 4, which contradict each other)");
  EXPECT_EQ(WithStats(R"("std":2)", R"("std":-2)"),
            at + R"("stats" has std -2 and l2 4; neither can be negative)");
  EXPECT_EQ(WithStats(R"("max":4)", R"("max":null)"),
            at + R"(stats: "max" is missing; a number is expected)");
  EXPECT_EQ(WithStats(R"("finite":2,)", ""),
            at + R"(stats: "finite" is missing; an integer in [0, 9007199254740992] is expected)");
}

TEST(CaptureJson, RefusesRepeatedEntries) {
  Pieces p;
  p.more = R"(,{"index":4,"name":"a","op":"m","direction":"output","port":0,"shape":[],"dtype":"i64"})";
  EXPECT_EQ(Refusal(p),
            R"(c: the entries of index 0 and 4 are both "a:out0@0"; name, direction, port and step )"
            "together must be unique");
}

TEST(CaptureJson, RefusesEndlessNamesAndAttributes) {
  EXPECT_EQ(With(&Pieces::name, StrCat("\"name\":\"", std::string(100'000'000, 'n'), "\",")),
            StrCat(R"(c: entries[0]: "name" has 100000000 bytes, beginning with ")", std::string(40, 'n'),
                   R"("; at most 4096 are allowed)"));
  std::string many = R"("attributes":{"a":[)";
  for (int i = 0; i < 70000; ++i) many += i == 0 ? "1" : ",1";
  EXPECT_EQ(With(&Pieces::digest, many + "]}"),
            R"(c: "entries"[0] holds more than the 65536 values allowed)");
  std::string deep = R"("attributes":{"a":)" + std::string(100, '[');
  EXPECT_EQ(With(&Pieces::digest, deep), "c: nested deeper than 64 levels");
  EXPECT_EQ(With(&Pieces::producer, R"("producer":{"name":"t","x":[)" + many.substr(19) + "]},"),
            "c: the file holds more than the 65536 values allowed beside that list");
}

// Folders whose files do not fit together.
class CaptureFolderTest : public CaptureTest {
 protected:
  void SetUp() override {
    CaptureTest::SetUp();
    auto writer = CaptureWriter::Create(at_, Info());
    ASSERT_TRUE(writer->Add(Named("a"), Floats({1, 2}).view(), true).ok());
    ASSERT_TRUE(writer->Finish().ok());
    shard_ = at_ + "/tensors-00001-of-00001.safetensors";
  }
  std::string Refusal() const {
    const auto opened = Capture::Open(at_);
    if (opened.ok()) return "accepted";
    EXPECT_EQ(ExitCode(opened.status()), 2);
    return std::string(opened.status().message());
  }
  // Replaces text in capture.json.
  void Replace(std::string_view from, std::string_view to) {
    std::string text = *ReadFile(at_ + "/capture.json", 1 << 20);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    ASSERT_TRUE(WriteFile(at_ + "/capture.json", text.replace(at, from.size(), to)).ok());
  }
  void AddShard(const std::string& name, std::string_view tensor) {
    const int64_t dims[] = {1};
    const uint8_t byte = 1;
    const ConstTensorRef t{tensor, DType::kU8, dims, reinterpret_cast<const std::byte*>(&byte), 1};
    ASSERT_TRUE(WriteSafetensors(at_ + "/" + name, {&t, 1}).ok());
  }
  std::string shard_;
};

TEST_F(CaptureFolderTest, MissingFolderOrFile) {
  EXPECT_EQ(Capture::Open(folder_ + "/no").status().message(),
            folder_ + "/no: there is no such folder; a capture is expected");
  EXPECT_EQ(Capture::Open(folder_).status().message(),
            folder_ + ": holds no capture.json; a capture is expected");
  ASSERT_TRUE(MakeFolders(folder_ + "/empty/x").ok());
  EXPECT_EQ(OpenCaptures(folder_ + "/empty").status().message(),
            folder_ + "/empty: holds no capture.json, nor do the folders in it; a capture is expected");
}

TEST_F(CaptureFolderTest, TruncatedTensorFile) {
  std::filesystem::resize_file(shard_, std::filesystem::file_size(shard_) - 1);
  EXPECT_THAT(Refusal(), HasSubstr(shard_ + ": "));
  EXPECT_THAT(Refusal(), HasSubstr("lie outside"));
}

TEST_F(CaptureFolderTest, TruncatedJson) {
  std::filesystem::resize_file(at_ + "/capture.json", 200);
  EXPECT_THAT(Refusal(), HasSubstr("capture.json: line 1: not JSON"));
}

TEST_F(CaptureFolderTest, MissingTensor) {
  Replace(R"("tensor":"0")", R"("tensor":"../../etc/passwd")");
  EXPECT_EQ(Refusal(), at_ +
                           R"(: entry 0 ("a:out0@0") names the tensor "../../etc/passwd", which none of the )"
                           "tensor files holds");
}

TEST_F(CaptureFolderTest, NoTensorFile) {
  std::filesystem::remove(shard_);
  EXPECT_EQ(Refusal(),
            at_ + R"(: entry 0 ("a:out0@0") names the tensor "0", which is in no file: there are no )"
                  "tensor files");
}

TEST_F(CaptureFolderTest, OtherShapeOrType) {
  Replace(R"("shape":[2])", R"("shape":[1,2])");
  EXPECT_EQ(Refusal(),
            shard_ + R"(: tensor "0" is f32[2]; entry 0 of capture.json ("a:out0@0") says f32[1, 2])");
  Replace(R"("shape":[1,2],"dtype":"f32")", R"("shape":[2],"dtype":"i32")");
  EXPECT_EQ(Refusal(),
            shard_ + R"(: tensor "0" is f32[2]; entry 0 of capture.json ("a:out0@0") says i32[2])");
}

TEST_F(CaptureFolderTest, MixedCaptures) {
  AddShard("tensors-00001-of-00002.safetensors", "b");
  EXPECT_EQ(Refusal(), at_ +
                           ": holds both tensors-00001-of-00001.safetensors and "
                           "tensors-00001-of-00002.safetensors; files of two captures are mixed");
  std::filesystem::remove(shard_);
  EXPECT_EQ(Refusal(), at_ + ": tensor file 2 of 2 is missing");
  AddShard("tensors-00002-of-00002.safetensors", "b");
  EXPECT_EQ(Refusal(), at_ + R"(: tensor "b" is in two tensor files)");
}

TEST_F(CaptureFolderTest, AForeignTensorOrFile) {
  Replace(R"("tensor":"0")", R"("tensor":null)");
  EXPECT_EQ(Refusal(), shard_ +
                           R"(: holds the tensor "0", which no entry of capture.json names; files of two )"
                           "captures may be mixed");
  AddShard("more.safetensors", "b");
  EXPECT_THAT(Refusal(), HasSubstr("more.safetensors: is no tensor file of a capture"));
  std::filesystem::rename(at_ + "/more.safetensors", at_ + "/tensors-00002-of-00001.safetensors");
  EXPECT_THAT(Refusal(), HasSubstr("is no tensor file of a capture"));
}

TEST_F(CaptureFolderTest, LinksToElsewhereAndToThemselves) {
  std::filesystem::rename(shard_, folder_ + "/elsewhere");
  ASSERT_EQ(symlink("../elsewhere", shard_.c_str()), 0);
  EXPECT_EQ(Refusal(), shard_ + ": is a symbolic link; the tensor files of a capture lie in its folder");
  std::filesystem::remove(shard_);
  ASSERT_EQ(symlink("tensors-00001-of-00001.safetensors", shard_.c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("is a symbolic link"));
  std::filesystem::remove(shard_);
  ASSERT_EQ(mkfifo(shard_.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(), shard_ + ": is not a regular file");
}

TEST_F(CaptureFolderTest, ChangedBytesShowInTheDigest) {
  {
    std::fstream file(shard_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x41');
  }
  const auto capture = Capture::Open(at_);
  ASSERT_TRUE(capture.ok());
  EXPECT_THAT(std::string(capture->VerifyDigests().message()),
              HasSubstr(R"(the tensor of entry 0 ("a:out0@0") has the sha256)"));
  EXPECT_EQ(capture->VerifyDigests().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CaptureFolderTest, EightBitFloatsComeAsBytes) {
  const std::string header = R"({"0":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})";
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  ASSERT_TRUE(WriteFile(shard_, file + header + "\x38\x40").ok());
  EXPECT_THAT(Refusal(), HasSubstr("is f8_e4m3[2]; entry 0"));
  Replace(R"("dtype":"f32")", R"("dtype":"f8_e4m3")");
  const auto capture = Capture::Open(at_);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_EQ(capture->Tensor(capture->entries()[0])->dtype, DType::kU8);
  // Elsewhere they stay unread.
  EXPECT_FALSE(SafetensorsFile::Open(shard_).ok());
}

TEST_F(CaptureFolderTest, BrokenEnvironment) {
  ASSERT_TRUE(WriteFile(at_ + "/environment.json", "{").ok());
  EXPECT_THAT(Refusal(), HasSubstr("environment.json: line 1: not JSON"));
}

TEST_F(CaptureFolderTest, SeveralCapturesInAFolder) {
  auto info = Info();
  info.repeat = 1;
  auto writer = CaptureWriter::Create(folder_ + "/d", info);
  ASSERT_TRUE(writer->Finish().ok());
  const auto all = OpenCaptures(folder_);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[1].info().repeat, 1);
}

TEST(WriteJsonTree, ComesBack) {
  const std::string text = R"({"a":[1,2.5,"x",null,true],"b":{"c":-3}})";
  std::string out;
  JsonWriter writer(&out);
  WriteJson(*ParseJson(text, "t"), writer);
  EXPECT_EQ(out, text);
}

}  // namespace
}  // namespace plinth::formats
