// Replays the captures that PyTorch made (tests/data/replay), and captures with something missing.
#include "plinth/verify/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "plinth/verify/replay/uses.h"

namespace plinth::verify::replay {
namespace {

using formats::Capture;
using formats::CaptureDirection;
using formats::CaptureEntry;
using ::testing::HasSubstr;

std::string Source(const std::string& path) {
  const char* folder = std::getenv("PLINTH_SOURCE_DIR");
  return std::string(folder == nullptr ? "." : folder) + "/" + path;
}

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() : folder_(std::filesystem::temp_directory_path() / StrCat("plinth_replay_", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ReplayTest() override { std::filesystem::remove_all(folder_); }

  Capture OpenOr(const std::string& path) {
    StatusOr<Capture> capture = Capture::Open(path);
    if (!capture.ok()) throw std::runtime_error(std::string(capture.status().message()));  // fails the test
    return *std::move(capture);
  }
  Summary Run(const Capture& candidate, const Capture* incumbent = nullptr, const Capture* truth = nullptr,
              ReplayOptions options = {}) {
    rows_.clear();
    Threads threads(2);
    StatusOr<Summary> summary = Replay({.threads = &threads}, candidate, incumbent, truth, options,
                                       [&](const CheckRow& row) { rows_.push_back(row); });
    EXPECT_TRUE(summary.ok()) << summary.status();
    return summary.ok() ? *summary : Summary{};
  }

  // A capture of one operator y = f(x); full or as statistics only.
  struct One {
    std::string op = "relu";
    std::vector<float> x = {1, -2, 3}, y = {1, 0, 3};
    bool full_input = true, full_output = true, with_input = true;
    std::string inputs_digest, producer = "{\"name\":\"test\"}", attributes = "{}";
  };
  Capture Make(const std::string& name, const One& one) {
    const std::string path = folder_ / name;
    formats::CaptureInfo info;
    info.producer = *formats::ParseJson(one.producer, "producer");
    info.inputs_digest = one.inputs_digest;
    StatusOr<formats::CaptureWriter> writer = formats::CaptureWriter::Create(path, std::move(info));
    EXPECT_TRUE(writer.ok()) << writer.status();
    const auto add = [&](CaptureDirection direction, const std::vector<float>& data, bool full) {
      CaptureEntry entry;
      entry.name = "layer/f.0", entry.op = one.op, entry.direction = direction;
      entry.attributes = *formats::ParseJson(one.attributes, "attributes");
      const int64_t n = static_cast<int64_t>(data.size());
      EXPECT_TRUE(
          writer->Add(entry, DenseView(const_cast<float*>(data.data()), DType::kF32, &n, 1), full).ok());
    };
    if (one.with_input) add(CaptureDirection::kInput, one.x, one.full_input);
    add(CaptureDirection::kOutput, one.y, one.full_output);
    EXPECT_TRUE(writer->Finish().ok());
    return OpenOr(path);
  }

  std::filesystem::path folder_;
  std::vector<CheckRow> rows_;
};

TEST_F(ReplayTest, ReferencesAgreeWithPyTorchInDouble) {
  const Capture capture = OpenOr(Source("tests/data/replay/torch_f64"));
  const Summary summary = Run(capture);
  EXPECT_GT(summary.compared, 90);
  EXPECT_EQ(summary.failed + summary.unproven, 0);
  for (const CheckRow& row : rows_) {
    EXPECT_EQ(row.status, CheckStatus::kPassed) << ToText(row);
    EXPECT_LE(row.rel_l2, 1e-12) << ToText(row);
  }
}

TEST_F(ReplayTest, PyTorchsOwnKernelsPass) {
  const Capture capture = OpenOr(Source("tests/data/replay/torch_types"));
  const Summary summary = Run(capture);
  EXPECT_GT(summary.compared, 150);
  for (const CheckRow& row : rows_) EXPECT_EQ(row.status, CheckStatus::kPassed) << ToText(row);
}

TEST_F(ReplayTest, ACaptureAgainstItselfHoldsEveryRule) {
  const Capture capture = OpenOr(Source("tests/data/replay/torch_types"));
  Run(capture, &capture, nullptr, {.ops = {"linear"}});
  ASSERT_FALSE(rows_.empty());
  for (const CheckRow& row : rows_) {
    EXPECT_EQ(row.op, "linear");
    EXPECT_EQ(row.status, CheckStatus::kPassed) << ToText(row);
    EXPECT_THAT(ToJson(row), HasSubstr("\"rules\":{\"structure\":\"holds\",\"cap\":\"holds\",\"incumbent\":"
                                       "\"holds\",\"noise\":\"unproven\"}"));
    EXPECT_THAT(ToJson(row), HasSubstr("\"same_inputs\":true"));
  }
}

TEST_F(ReplayTest, WhatIsMissingIsUnprovenAndSaysWhatToCapture) {
  Summary s = Run(Make("a", {.full_input = false}));
  EXPECT_EQ(s.unproven, 1);
  EXPECT_FALSE(s.good());
  EXPECT_EQ(rows_[0].detail, "input 0 (x) was taken as statistics only; capture it in full");
  Run(Make("b", {.with_input = false}));
  EXPECT_EQ(rows_[0].detail, "input 0 (x) was not recorded; capture the operator's inputs in full");
  Run(Make("c", {.full_output = false}));
  EXPECT_EQ(rows_[0].detail, "output 0 was taken as statistics only; capture it in full");
  Run(Make("d", {.op = "my_norm"}));
  EXPECT_EQ(rows_[0].detail, "there is no reference for operators called \"my_norm\"");
  EXPECT_EQ(rows_[0].status, CheckStatus::kUnproven);
}

TEST_F(ReplayTest, AUsersTruthDecides) {
  const Capture mine = Make("mine", {.op = "my_norm"}), truth = Make("truth", {.op = "my_norm"});
  Summary s = Run(mine, nullptr, &truth);
  EXPECT_TRUE(s.good());
  EXPECT_THAT(ToJson(rows_[0]), HasSubstr("\"truth\":\"given\""));
  const Capture wrong = Make("wrong", {.op = "my_norm", .y = {1, 0, 3.01F}});
  s = Run(wrong, nullptr, &truth);
  EXPECT_FALSE(s.good());
  EXPECT_THAT(rows_[0].detail, HasSubstr("1 of 3 elements are outside; element 2"));
}

TEST_F(ReplayTest, WithoutTruthTheIncumbentNeverMakesAPass) {
  const Capture mine = Make("mine", {.op = "my_norm"}), other = Make("other", {.op = "my_norm"});
  Summary s = Run(mine, &other);
  EXPECT_EQ(s.passed, 0);
  EXPECT_EQ(s.unproven, 1);
  EXPECT_FALSE(s.good());
  EXPECT_THAT(
      rows_[0].detail,
      HasSubstr("no truth (there is no reference for operators called \"my_norm\"); close to the incumbent"));
  const Capture drifted = Make("drifted", {.op = "my_norm", .y = {1, 0.1F, 3}});
  s = Run(drifted, &other);
  EXPECT_EQ(s.failed, 1);
  EXPECT_THAT(rows_[0].detail, HasSubstr("differs from the incumbent on the same inputs"));
  const Capture elsewhere = Make("elsewhere", {.op = "my_norm", .x = {7, 7, 7}});
  Run(elsewhere, &other);
  EXPECT_EQ(rows_[0].status, CheckStatus::kUnproven);
  EXPECT_THAT(rows_[0].detail, HasSubstr("the incumbent had other inputs"));
}

// Each side is right by its own attributes; the candidate is another operator all the same.
TEST_F(ReplayTest, AnotherAttributeThanTheIncumbentsFails) {
  const auto norm = [&](const std::string& name, double eps, const char* text) {
    const std::vector<float> x = {1, -2, 3};
    const double mean = 2.0 / 3, variance = (1 + 4 + 9) / 3.0 - mean * mean;
    One one{.op = "layer_norm",
            .x = x,
            .y = {},
            .attributes = StrCat("{\"normalized_shape\":[3],\"eps\":", text, "}")};
    for (const float v : x) one.y.push_back(static_cast<float>((v - mean) / std::sqrt(variance + eps)));
    return Make(name, one);
  };
  const Capture right = norm("right", 1e-5, "1e-05"), wrong = norm("wrong", 1e-2, "0.01");
  EXPECT_EQ(Run(wrong).failed, 0);
  EXPECT_EQ(Run(right, &right).failed, 0);
  EXPECT_EQ(Run(wrong, &right).failed, 1);
  EXPECT_EQ(rows_[0].detail, "attribute eps is 0.01, the incumbent's is 1e-05");
}

TEST_F(ReplayTest, AWrongIncumbentIsNoMeasure) {
  const Capture mine = Make("mine", {}), wrong = Make("wrong", {.y = {1, -2, 3}});
  const Summary s = Run(mine, &wrong);
  EXPECT_TRUE(s.good());
  EXPECT_THAT(rows_[0].detail,
              HasSubstr("the candidate is right, the incumbent is not: 1 of 3 elements are outside"));
}

TEST_F(ReplayTest, ShapesThatContradictFail) {
  const Summary s = Run(Make("a", {.y = {1, 0}}));
  EXPECT_EQ(s.failed, 1);
  EXPECT_EQ(rows_[0].detail, "output has shape [2]; [3] is what the inputs give");
}

TEST_F(ReplayTest, CapturesOfOtherInputsAreRefused) {
  const Capture a = Make("a", {.inputs_digest = std::string(64, 'a')}),
                b = Make("b", {.inputs_digest = std::string(64, 'b')});
  Threads threads(1);
  const StatusOr<Summary> s = Replay({.threads = &threads}, a, &b, nullptr, {}, [](const CheckRow&) {});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("captures of the same inputs are needed"));
}

TEST_F(ReplayTest, PlinthsOwnOperatorsUseTheirOwnReferences) {
  const One own{.op = "unary", .producer = "{\"name\":\"plinth\"}"};
  Run(Make("a", own));
  EXPECT_EQ(rows_[0].status, CheckStatus::kFailed);  // no function was recorded
  EXPECT_THAT(rows_[0].detail, HasSubstr("function \"\" is unknown"));
}

}  // namespace
}  // namespace plinth::verify::replay
