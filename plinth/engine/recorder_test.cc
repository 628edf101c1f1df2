#include "plinth/engine/recorder.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/files.h"
#include "plinth/engine/capture_job.h"

namespace plinth::engine {
namespace {

using formats::Capture;
using formats::CaptureEntry;
using testing::HasSubstr;

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_recorder_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    context_.threads = &threads_;
    context_.isa = *IsaFromEnvironment();
    const char* source = std::getenv("PLINTH_SOURCE_DIR");
    auto session = Session::Load(StrCat(source, "/tests/golden/chronos_bolt_rand"), context_);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    for (int i = 0; i < 90; ++i) series_.push_back(5 + std::sin(0.4 * i));
    group_.rows = {{series_, {}}};
    request_ = {.horizon = 5, .levels = {0.1, 0.5, 0.9}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static CaptureJob Job(bool full, bool operators, const std::string& name = "*") {
    CaptureJob job;
    job.record.records.push_back({name, full, full, true, operators});
    return job;
  }
  Status Write(const CaptureJob& job, const std::string& name, RunObserver* watch = nullptr) {
    return WriteCapture(*session_, {&group_, 1}, request_, job, Path(name), nullptr, watch);
  }
  Capture Open(const std::string& name) {
    auto capture = Capture::Open(Path(name));
    EXPECT_TRUE(capture.ok()) << capture.status();
    return *std::move(capture);
  }
  static std::vector<double> Values(const Capture& capture, const std::string& key) {
    const CaptureEntry* entry = capture.Find(key);
    EXPECT_NE(entry, nullptr) << key;
    const auto* tensor = entry == nullptr ? nullptr : capture.Tensor(*entry);
    if (tensor == nullptr) return {};
    std::vector<double> values(static_cast<size_t>(tensor->size()));
    EXPECT_TRUE(formats::ConvertTo(*tensor, DType::kF64, values.data()).ok());
    return values;
  }

  std::string folder_;
  Threads threads_{2};
  Context context_;
  std::unique_ptr<Session> session_;
  std::vector<double> series_;
  Group group_;
  ForecastRequest request_;
};

TEST_F(RecorderTest, TheForecastIsThatOfAnOrdinaryRun) {
  const auto forecasts = session_->Run({&group_, 1}, request_);
  ASSERT_TRUE(forecasts.ok());
  for (const bool fused : {false, true}) {
    CaptureJob job = Job(false, false);
    job.fused = fused;
    const std::string name = fused ? "fused" : "published";
    ASSERT_TRUE(Write(job, name).ok());
    const std::vector<double> output = Values(Open(name), "output:out0@0");
    ASSERT_EQ(output.size(), (*forecasts)[0].values.size());
    for (size_t i = 0; i < output.size(); ++i) {
      EXPECT_NEAR(output[i], (*forecasts)[0].values[i], 1e-5 * std::fabs(output[i])) << name;
    }
  }
}

TEST_F(RecorderTest, StatisticsAloneNeedNoTensors) {
  CaptureJob job = Job(false, false);
  job.full_output = false;
  ASSERT_TRUE(Write(job, "c").ok());
  EXPECT_THAT(*ListFolder(Path("c")), testing::ElementsAre("capture.json"));
  const Capture capture = Open("c");
  const CaptureEntry* block = capture.Find("encoder.block.1:out0@0");
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->op, "module");
  EXPECT_EQ(capture.Find("encoder.block.0.layer.0.SelfAttention.q:out0@0")->op, "linear");
  EXPECT_EQ(capture.Find("input/patches:out0@0")->op, "input");
  EXPECT_EQ(*capture.info().producer.Find("graph")->text(), "published");
}

// Every input of every operator is the output of one before it, an input of the network, or a constant; and
// all needed to compute the operator again is there.
TEST_F(RecorderTest, OperatorsCanBeComputedAgain) {
  ASSERT_TRUE(Write(Job(true, true), "c").ok());
  const Capture capture = Open("c");
  EXPECT_TRUE(capture.VerifyDigests().ok());
  int linears = 0;
  for (const CaptureEntry& entry : capture.entries()) {
    ASSERT_NE(capture.Tensor(entry), nullptr) << entry.Key();
    if (entry.op != "linear" || entry.name.find('/') == entry.name.npos) continue;
    if (entry.direction != formats::CaptureDirection::kOutput) continue;
    ++linears;
    const std::vector<double> x = Values(capture, entry.name + ":in0@0"),
                              w = Values(capture, entry.name + ":in1@0"), y = Values(capture, entry.Key());
    const size_t columns = static_cast<size_t>(entry.dims.back());
    const size_t inner = w.size() / columns;
    double sum = 0;
    for (size_t k = 0; k < inner; ++k) sum += x[k] * w[k];
    if (capture.Find(entry.name + ":in2@0") == nullptr && entry.attributes.object()->empty()) {
      EXPECT_NEAR(y[0], sum, 1e-4 * (1 + std::fabs(sum))) << entry.name;
    }
  }
  EXPECT_GT(linears, 10);
  // The same value is stored once.
  const CaptureEntry* q = capture.Find("encoder.block.0.layer.0.SelfAttention.q/linear.0:out0@0");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->tensor, capture.Find("encoder.block.0.layer.0.SelfAttention.q:out0@0")->tensor);
  EXPECT_EQ(q->attributes.object()->size(), 0u);
}

TEST_F(RecorderTest, OperatorsOfOneModuleAlone) {
  ASSERT_TRUE(Write(Job(true, true, "encoder.block.1"), "c").ok());
  const Capture capture = Open("c");
  for (const CaptureEntry& entry : capture.entries()) {
    if (entry.op == "output") continue;
    EXPECT_THAT(entry.name, testing::StartsWith("encoder.block.1")) << entry.Key();
  }
  EXPECT_NE(capture.Find("encoder.block.1:out0@0"), nullptr);
}

// Forced by its own capture nothing changes, and each layer stands alone behind a fault.
TEST_F(RecorderTest, ForcedRunsTakeTheReferencesInputs) {
  ASSERT_TRUE(Write(Job(true, false), "ref").ok());
  const Capture reference = Open("ref");
  CaptureJob job = Job(true, false);
  job.record.forced_by = &reference;
  ASSERT_TRUE(Write(job, "same").ok());
  const Capture same = Open("same");
  EXPECT_TRUE(same.info().forced);
  for (const CaptureEntry& entry : reference.entries()) {
    EXPECT_EQ(same.Find(entry.Key())->digest, entry.digest) << entry.Key();
  }
}

class Doubler : public RunObserver {
 public:
  explicit Doubler(std::string name) : name_(std::move(name)) {}
  Status Begin(int64_t, plan::Workspace&) override { return absl::OkStatus(); }
  Status Before(size_t, plan::Workspace&) override { return absl::OkStatus(); }
  Status After(size_t step, plan::Workspace& workspace) override {
    if (workspace.plan().StepName(step) != name_) return absl::OkStatus();
    const View& view = workspace.ValueView(workspace.plan().StepOutputs(step)[0]);
    for (int64_t i = 0; i < view.size(); ++i) view.as<float>()[i] *= 2;
    return absl::OkStatus();
  }

 private:
  std::string name_;
};

TEST_F(RecorderTest, AReplacementRepairsWhatFollows) {
  ASSERT_TRUE(Write(Job(true, false), "ref").ok());
  const Capture reference = Open("ref");
  const std::string q = "encoder.block.0.layer.0.SelfAttention.q", block = "encoder.block.0:out0@0";
  Doubler fault(q + ": linear");
  ASSERT_TRUE(Write(Job(true, false), "bad", &fault).ok());
  const Capture bad = Open("bad");
  EXPECT_NE(bad.Find(block)->digest, reference.Find(block)->digest);
  EXPECT_NE(bad.Find("output:out0@0")->digest, reference.Find("output:out0@0")->digest);
  CaptureJob job = Job(true, false);
  job.record.replaced.emplace_back(q, &reference);
  ASSERT_TRUE(Write(job, "mended", &fault).ok());
  const Capture mended = Open("mended");
  EXPECT_FALSE(mended.info().forced);
  EXPECT_EQ(*(*mended.info().producer.Find("replaced")->array())[0].text(), q);
  // It shows what was computed there, and what followed from the reference.
  EXPECT_EQ(mended.Find(q + ":out0@0")->digest, bad.Find(q + ":out0@0")->digest);
  EXPECT_EQ(mended.Find(block)->digest, reference.Find(block)->digest);
  EXPECT_EQ(mended.Find("output:out0@0")->digest, reference.Find("output:out0@0")->digest);
}

TEST_F(RecorderTest, LongHorizonsHaveAStepForEachPass) {
  request_.horizon = 2 * session_->model().info().horizon + 1;
  ASSERT_TRUE(Write(Job(false, false), "c").ok());
  const Capture capture = Open("c");
  EXPECT_NE(capture.Find("encoder.block.0:out0@2"), nullptr);
  EXPECT_EQ(capture.Find("encoder.block.0:out0@3"), nullptr);
  EXPECT_EQ(capture.Find("output:out0@0")->dims[1], request_.horizon);
}

TEST_F(RecorderTest, RefusesWhatCannotBe) {
  const auto refusal = [&](const CaptureJob& job) {
    const Status status = Write(job, "x");
    EXPECT_FALSE(FileExists(Path("x/capture.json")));
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(Job(false, false, "nothing.*")),
              HasSubstr(R"(has a name that was asked for ("nothing.*"))"));
  ASSERT_TRUE(Write(Job(false, false), "statistics").ok());
  ASSERT_TRUE(Write(Job(true, false), "full").ok());
  series_.resize(40);
  group_.rows = {{series_, {}}};
  ASSERT_TRUE(Write(Job(true, false), "short").ok());
  const Capture statistics = Open("statistics"), full = Open("full");
  CaptureJob job = Job(false, false);
  job.record.forced_by = &statistics;
  EXPECT_THAT(refusal(job), HasSubstr("holds no tensor of any module that is recorded here"));
  job.record.forced_by = &full;
  EXPECT_THAT(refusal(job), HasSubstr("so it cannot take its place"));
  job.record.forced_by = nullptr;
  job.record.replaced = {{"encoder.block.7", &full}};
  EXPECT_THAT(refusal(job), HasSubstr(R"(the network has no value named "encoder.block.7" to replace)"));
  job.record.replaced = {{"encoder.block.1", &statistics}};
  EXPECT_THAT(refusal(job), HasSubstr(R"(has statistics alone of "encoder.block.1:out0@0")"));
  job.record.replaced.clear();
  EXPECT_EQ(Write(job, "full").code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace plinth::engine
