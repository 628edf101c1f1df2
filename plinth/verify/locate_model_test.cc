// Drift that is planted into runs of real networks: the layer, the operator, whose error it is, what repairs
// it.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/pattern.h"
#include "plinth/engine/capture_job.h"
#include "plinth/tensor/half.h"
#include "plinth/verify/locate.h"

namespace plinth::verify {
namespace {

using engine::CaptureJob;
using testing::HasSubstr;
using testing::StartsWith;

// Changes what some steps write, as a wrong kernel would.
class Fault : public engine::RunObserver {
 public:
  using Change = void (*)(const View& view);
  Fault(std::string scope, std::string op, Change change)
      : scope_(std::move(scope)), op_(std::move(op)), change_(change) {}
  Status Begin(int64_t, plan::Workspace&) override { return absl::OkStatus(); }
  Status Before(size_t, plan::Workspace&) override { return absl::OkStatus(); }
  Status After(size_t step, plan::Workspace& workspace) override {
    const plan::Plan& plan = workspace.plan();
    if (plan.StepCall(step).spec->name != op_ || !MatchesStars(scope_, plan.StepScope(step))) {
      return absl::OkStatus();
    }
    ++hits;
    change_(workspace.ValueView(plan.StepOutputs(step)[0]));
    return absl::OkStatus();
  }
  int hits = 0;

 private:
  const std::string scope_, op_;
  const Change change_;
};

// One lane of 64 is lost, as by a reduction that knows 32.
void LoseALane(const View& view) {
  for (int64_t i = 37; i < view.size(); i += 64) view.as<float>()[i] = 0;
}
void ThroughBFloat16(const View& view) {
  for (int64_t i = 0; i < view.size(); ++i) view.as<float>()[i] = ToFloat(ToBFloat16(view.as<float>()[i]));
}
void WrongScale(const View& view) {
  for (int64_t i = 0; i < view.size(); ++i) view.as<float>()[i] *= 448.0f / 240.0f;
}

class LocateModelTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_locate_model_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    context_.threads = &threads_;
    const auto isa = IsaFromEnvironment();
    ASSERT_TRUE(isa.ok());
    context_.isa = *isa;
    const char* source = std::getenv("PLINTH_SOURCE_DIR");
    auto session = engine::Session::Load(StrCat(source, "/", GetParam()), context_);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    for (int i = 0; i < 200; ++i) series_.push_back(10 + 3 * std::sin(0.3 * i) + 0.02 * i);
    group_.rows = {{series_, {}}};
    request_ = {.horizon = 24, .levels = {0.1, 0.5, 0.9}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  static CaptureJob Job(bool full, bool operators) {
    CaptureJob job;
    job.record.records.push_back({"*", full, full, true, operators});
    job.full_output = full;
    return job;
  }
  Status Capture(const CaptureJob& job, const std::string& folder, engine::RunObserver* fault) {
    return engine::WriteCapture(*session_, {&group_, 1}, request_, job, folder, nullptr, fault);
  }
  LocateOptions Options() {
    LocateOptions options;
    options.reference = Path("ref");
    options.output = Path("out");
    return options;
  }
  // The candidate with its fault, on demand.
  RerunCandidate Candidate(Fault& fault) {
    return [this, &fault](const Rerun& rerun, const std::string& folder) {
      CaptureJob job = Job(true, false);
      job.record.forced_by = rerun.forced_by;
      if (!rerun.replaced.empty()) job.record.replaced.emplace_back(rerun.replaced, rerun.reference);
      return Capture(job, folder, &fault);
    };
  }
  // Of layer 1 of the encoder, by either family's names.
  std::string Block() const {
    return std::string(GetParam()).find("bolt") != std::string::npos ? "encoder.block.1" : "blocks.1";
  }

  std::string folder_;
  Threads threads_{2};
  Context context_;
  std::unique_ptr<engine::Session> session_;
  std::vector<double> series_;
  engine::Group group_;
  engine::ForecastRequest request_;
};

INSTANTIATE_TEST_SUITE_P(Models, LocateModelTest,
                         testing::Values("models/plinth-ts-0", "tests/golden/chronos_bolt_rand"),
                         [](const auto& info) { return info.index == 0 ? "PlinthTs" : "ChronosBolt"; });

TEST_P(LocateModelTest, NoFaultNoDrift) {
  ASSERT_TRUE(Capture(Job(true, true), Path("ref"), nullptr).ok());
  ASSERT_TRUE(Capture(Job(true, true), Path("out"), nullptr).ok());
  const auto result = Locate(Options());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->good()) << ToText(*result, 100, true);
}

// Faults of three kinds in one operator of layer 1; full tensors of the operators name it.
TEST_P(LocateModelTest, NamesLayerAndOperator) {
  ASSERT_TRUE(Capture(Job(true, true), Path("ref"), nullptr).ok());
  int number = 0;
  for (const auto change : {LoseALane, ThroughBFloat16, WrongScale}) {
    Fault fault(Block() + "*", "attention", change);
    LocateOptions options = Options();
    options.output = Path(StrCat("out", number++));
    ASSERT_TRUE(Capture(Job(true, true), options.output, &fault).ok());
    ASSERT_EQ(fault.hits, 1);
    const auto result = Locate(options);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_FALSE(result->good());
    EXPECT_EQ(result->first_drift->module, Block());
    EXPECT_EQ(result->first_drift->layer, 1);
    EXPECT_EQ(result->first_drift->op, "attention") << ToText(*result, 100, true);
    EXPECT_THAT(result->first_drift->name, StartsWith(Block() + "."));
    EXPECT_EQ(result->first_drift->note, "");  // its inputs are right
  }
}

TEST_P(LocateModelTest, StatisticsNameTheLayer) {
  ASSERT_TRUE(Capture(Job(false, false), Path("ref"), nullptr).ok());
  Fault fault(Block() + "*", "attention", WrongScale);
  ASSERT_TRUE(Capture(Job(false, false), Path("out"), &fault).ok());
  const auto result = Locate(Options());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(result->good());
  EXPECT_EQ(result->first_drift->module, Block()) << ToText(*result, 100, true);
  EXPECT_EQ(result->first_drift->by, Drift::By::kStatistics);
  ASSERT_FALSE(result->next.records.empty());
  EXPECT_EQ(result->next.records[0].name, Block());
}

// The candidate runs again, fault and all: its layers by themselves, and with the reference put back.
TEST_P(LocateModelTest, SeparatesAndConfirms) {
  ASSERT_TRUE(Capture(Job(true, false), Path("ref"), nullptr).ok());
  Fault fault(Block() + "*", "attention", LoseALane);
  ASSERT_TRUE(Capture(Job(true, false), Path("out"), &fault).ok());
  LocateOptions options = Options();
  options.rerun = Candidate(fault);
  const auto result = Locate(options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(result->good());
  EXPECT_EQ(result->first_drift->module, Block()) << ToText(*result, 100, true);
  EXPECT_GT(*result->first_drift->local, 1e-3);
  EXPECT_FALSE(result->first_drift->accumulated);
  EXPECT_EQ(result->confirmation, Confirmation::kRepaired) << result->confirmation_text;
  // Behind the fault the free run drifts, and each layer by itself is right.
  bool behind = false;
  int inherited = 0;
  for (const LayerDrift& layer : result->layers) {
    if (behind && layer.free.has_value() && layer.local.has_value()) {
      EXPECT_FALSE(layer.local->significant()) << layer.module;
      inherited += layer.free->significant() ? 1 : 0;
    }
    behind = behind || layer.module == Block();
  }
  EXPECT_GE(inherited, 1);
}

TEST_P(LocateModelTest, TwoFaultsAreNotRepairedByOne) {
  ASSERT_TRUE(Capture(Job(true, false), Path("ref"), nullptr).ok());
  Fault fault("*", "attention", LoseALane);  // in every layer
  ASSERT_TRUE(Capture(Job(true, false), Path("out"), &fault).ok());
  ASSERT_GT(fault.hits, 1);
  LocateOptions options = Options();
  options.rerun = Candidate(fault);
  const auto result = Locate(options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(result->good());
  EXPECT_EQ(result->first_drift->layer, 0);
  EXPECT_EQ(result->confirmation, Confirmation::kNotRepaired) << result->confirmation_text;
  EXPECT_THAT(result->confirmation_text, HasSubstr("still drifts"));
}

TEST_P(LocateModelTest, AFaultOfAnotherMachineIsNotSeenHere) {
  ASSERT_TRUE(Capture(Job(true, false), Path("ref"), nullptr).ok());
  Fault fault(Block() + "*", "attention", LoseALane), none("nowhere", "attention", LoseALane);
  ASSERT_TRUE(Capture(Job(true, false), Path("out"), &fault).ok());
  LocateOptions options = Options();
  options.rerun = Candidate(none);
  const auto result = Locate(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->first_drift->module, Block());
  EXPECT_EQ(result->confirmation, Confirmation::kNotSeenHere) << result->confirmation_text;
}

}  // namespace
}  // namespace plinth::verify
