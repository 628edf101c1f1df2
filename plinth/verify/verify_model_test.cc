// Holds our own models against their golden cases at the level PLINTH_ISA names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "plinth/base/files.h"
#include "plinth/verify/golden.h"
#include "plinth/verify/model_check.h"

namespace plinth::verify {
namespace {

using testing::HasSubstr;

Isa LevelOfThisRun() {
  const auto isa = IsaFromEnvironment();
  EXPECT_TRUE(isa.ok()) << isa.status();
  return isa.value_or(Isa::kV2);
}

std::string Golden(const std::string& name) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  return StrCat(source == nullptr ? "." : source, "/tests/golden/", name);
}

// Published files of others stay outside the project.
std::string Shared(const std::string& name) {
  const char* shared = std::getenv("PLINTH_SHARED");
  return shared == nullptr ? "" : StrCat(shared, "/golden/", name);
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, EveryOutputAndLayerIsWithinItsTolerance) {
  const std::string name = GetParam();
  const std::string folder = name.ends_with("_dummy") ? Shared(name) : Golden(name);
  if (folder.empty()) GTEST_SKIP() << "PLINTH_SHARED is not set; " << name << " is not part of the project";
  if (!FileExists(folder + "/cases.json")) GTEST_SKIP() << folder << " is not there";
  Threads threads(2);
  std::set<std::string> modes;
  const auto summary =
      VerifyModel({&threads, LevelOfThisRun()}, {.folder = folder, .cases_file = folder + "/cases.json"},
                  [&](const CheckRow& row) {
                    modes.insert(row.mode);
                    if (row.status != CheckStatus::kPassed) ADD_FAILURE() << ToText(row);
                  });
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->verdict(), "pass") << ToText(*summary);
  EXPECT_EQ(modes, (std::set<std::string>{"bitwise", "correct", "layers"}));
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTest,
                         testing::Values("chronos2_dummy", "chronos2_rand", "chronos_bolt_dummy",
                                         "chronos_bolt_rand", "plinth_ts_rand", "plinth_ts_real"),
                         [](const auto& info) { return std::string(info.param); });

// A golden folder of our own making, beside the small model.
class ModelCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = Golden("plinth_ts_rand");
    folder_ = StrCat(testing::TempDir(), "/golden_", getpid(), "_",
                     testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(MakeFolders(folder_).ok());
  }

  // Writes cases.json and cases.safetensors with arrays of doubles.
  void Write(const std::string& json, const std::map<std::string, std::vector<double>>& arrays,
             const std::map<std::string, std::vector<int64_t>>& shapes = {}) {
    ASSERT_TRUE(WriteFile(folder_ + "/cases.json", json).ok());
    std::map<std::string, std::vector<int64_t>> dims = shapes;
    std::vector<formats::ConstTensorRef> tensors;
    for (const auto& [name, data] : arrays) {
      if (dims.count(name) == 0) dims[name] = {static_cast<int64_t>(data.size())};
      tensors.push_back({name, DType::kF64, dims[name], reinterpret_cast<const std::byte*>(data.data()),
                         static_cast<int64_t>(data.size() * sizeof(double))});
    }
    const Status written = formats::WriteSafetensors(folder_ + "/cases.safetensors", tensors);
    ASSERT_TRUE(written.ok()) << written;
  }

  StatusOr<Summary> Verify(const std::string& only = "") {
    rows_.clear();
    Threads threads(1);
    return VerifyModel({&threads, LevelOfThisRun()},
                       {.folder = model_, .cases_file = folder_ + "/cases.json", .case_name = only},
                       [&](const CheckRow& row) { rows_.push_back(row); });
  }

  std::string model_, folder_;
  std::vector<CheckRow> rows_;
};

constexpr char kSeries[] = R"("inputs":{"context":[3]})";

std::string OneCase(const std::string& rest) {
  return StrCat(R"({"cases":[{"name":"a","options":{"horizon":1},)", kSeries, rest, "}]}");
}

TEST_F(ModelCheckTest, WrongGoldensFail) {
  const std::string outputs =
      R"(,"outputs":{"quantiles":{"shape":[9,1],"finite":true,"max_abs_f32_f64":1e-7}})";
  Write(OneCase(outputs), {{"a/in/context", {1, 2, 3}}, {"a/out/quantiles.f64", std::vector<double>(9, 1e3)}},
        {{"a/out/quantiles.f64", {9, 1}}});
  const auto summary = Verify();
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_EQ(rows_.size(), 2u);
  EXPECT_EQ(rows_[0].status, CheckStatus::kFailed);
  EXPECT_THAT(rows_[0].detail, HasSubstr("9 of 9 elements are outside"));
  EXPECT_EQ(rows_[1].mode, "bitwise");
  EXPECT_EQ(rows_[1].status, CheckStatus::kPassed);
  EXPECT_FALSE(summary->good());
  EXPECT_THAT(rows_[0].reproduce, HasSubstr(" plinth verify model "));
  EXPECT_THAT(rows_[0].reproduce, HasSubstr(" --case a"));
}

TEST_F(ModelCheckTest, WhatTheOriginalRefusesIsNotCompared) {
  Write(OneCase(R"(,"reference_error":"ValueError: too short")"), {{"a/in/context", {1, 2, 3}}});
  const auto summary = Verify();
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_FALSE(rows_.empty());
  EXPECT_EQ(rows_[0].status, CheckStatus::kPassed);
  EXPECT_THAT(rows_[0].detail, HasSubstr("a finite answer; ValueError: too short"));
  EXPECT_FALSE(rows_[0].compared);
}

TEST_F(ModelCheckTest, WhereTheOriginalGivesNanAFiniteAnswerWillDo) {
  Write(OneCase(R"(,"outputs":{"quantiles":{"shape":[9,1],"finite":false}})"),
        {{"a/in/context", {1, 2, 3}}, {"a/out/quantiles.f64", std::vector<double>(9, NAN)}},
        {{"a/out/quantiles.f64", {9, 1}}});
  const auto summary = Verify();
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(rows_[0].status, CheckStatus::kPassed);
  EXPECT_FALSE(rows_[0].compared);
}

TEST_F(ModelCheckTest, MissingAndExtraArraysAndForeignInputsFail) {
  const std::string outputs =
      R"(,"outputs":{"quantiles":{"shape":[9,1],"finite":true,"max_abs_f32_f64":1e-7}})";
  Write(OneCase(outputs), {{"a/in/context", {1, 2, 3}}, {"a/out/samples.f64", {1}}});
  ASSERT_TRUE(Verify().ok());
  EXPECT_EQ(rows_[0].status, CheckStatus::kExtra);
  EXPECT_EQ(rows_[0].output, "samples");
  EXPECT_EQ(rows_[1].status, CheckStatus::kMissing);
  EXPECT_THAT(rows_[1].detail, HasSubstr("has no array \"a/out/quantiles.f64\""));
  Write(R"({"cases":[{"name":"a","inputs":{"context":[1],"noise":[2]},"reference_error":"x"}]})",
        {{"a/in/context", {1}}});
  ASSERT_TRUE(Verify().ok());
  EXPECT_EQ(rows_[0].status, CheckStatus::kUnimplemented);
  EXPECT_THAT(rows_[0].detail, HasSubstr("takes the input \"noise\""));
}

TEST_F(ModelCheckTest, BadGoldenFoldersAreRefusedWithTheirPlace) {
  const auto message = [&](const std::string& json) {
    Write(json, {{"a/in/context", {1, 2, 3}}});
    return std::string(Verify().status().message());
  };
  EXPECT_THAT(message("{}"), HasSubstr("cases.json: has no list \"cases\""));
  EXPECT_THAT(message(R"({"cases":[{}]})"), HasSubstr("case 0: has no name"));
  EXPECT_THAT(message(R"({"cases":[{"name":"a"}]})"), HasSubstr("case 0 (\"a\"): has no inputs"));
  EXPECT_THAT(message(OneCase("")), HasSubstr("has neither outputs nor an error"));
  EXPECT_THAT(message(OneCase(R"(,"outputs":{"q":{}})")), HasSubstr("output q: the shape is not a list"));
  EXPECT_THAT(message(OneCase(R"(,"outputs":{"q":{"shape":[-1]}})")), HasSubstr("a dimension is -1"));
  EXPECT_THAT(message(OneCase(R"(,"outputs":{"q":{"shape":[1]}})")), HasSubstr("max_abs_f32_f64 is missing"));
  EXPECT_THAT(message(R"({"cases":[],"layers_case":"b in words"})"), HasSubstr("layers.safetensors"));
  Write(R"({"cases":[{"name":"a","inputs":{"context":[4]},"reference_error":"x"}]})",
        {{"a/in/context", {1, 2, 3}}});
  EXPECT_THAT(Verify().status().message(), HasSubstr("a/in/context: the array is [3], cases.json says [4]"));
  EXPECT_THAT(Verify("b").status().message(), HasSubstr("has no case \"b\"; the first one is \"a\""));
}

TEST_F(ModelCheckTest, AFamilyWithoutGroupsRefusesThem) {
  Write(R"({"cases":[{"name":"a","options":{"horizon":1},"inputs":{"target":[3],"past_covariates.x":[3]},
         "outputs":{"quantiles":{"shape":[9,1],"finite":true,"max_abs_f32_f64":1e-7}}}]})",
        {{"a/in/target", {1, 2, 3}},
         {"a/in/past_covariates.x", {1, 2, 3}},
         {"a/out/quantiles.f64", std::vector<double>(9, 1)}},
        {{"a/out/quantiles.f64", {9, 1}}});
  ASSERT_TRUE(Verify().ok());
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0].status, CheckStatus::kFailed);
  EXPECT_THAT(rows_[0].detail, HasSubstr("forecast each series by itself; a group of 2 rows was given"));
}

TEST_F(ModelCheckTest, ARaggedBatchIsComparedSeriesBySeries) {
  Write(R"({"cases":[{"name":"a","options":{"horizon":1},"inputs":{"context0":[2],"context1":[3]},
         "outputs":{"quantiles":{"shape":[2,9,1],"finite":true,"max_abs_f32_f64":1e9}}}]})",
        {{"a/in/context0", {1, 2}},
         {"a/in/context1", {1, 2, 3}},
         {"a/out/quantiles.f64", std::vector<double>(18, 1)}},
        {{"a/out/quantiles.f64", {2, 9, 1}}});
  ASSERT_TRUE(Verify().ok());
  ASSERT_EQ(rows_.size(), 2u);
  EXPECT_EQ(rows_[0].status, CheckStatus::kPassed) << rows_[0].detail;
  EXPECT_EQ(rows_[1].mode, "bitwise");
  EXPECT_EQ(rows_[1].status, CheckStatus::kPassed);
}

TEST_F(ModelCheckTest, AnEmptyListIsRefused) {
  Write(R"({"cases":[]})", {});
  for (const char* only : {"", "a"}) {
    const Status status = Verify(only).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("cases.json: its list \"cases\" is empty"));
  }
}

TEST_F(ModelCheckTest, ReproduceLinesAreForAShell) {
  const std::string outputs =
      R"(,"outputs":{"quantiles":{"shape":[9,1],"finite":true,"max_abs_f32_f64":1e-7}})";
  folder_ += " it's";
  ASSERT_TRUE(MakeFolders(folder_).ok());
  Write(OneCase(outputs), {{"a/in/context", {1, 2, 3}}, {"a/out/quantiles.f64", std::vector<double>(9, 1e3)}},
        {{"a/out/quantiles.f64", {9, 1}}});
  ASSERT_TRUE(Verify().ok());
  ASSERT_EQ(rows_.size(), 2u);
  EXPECT_THAT(rows_[0].reproduce, testing::EndsWith(" it'\\''s/cases.json' --case a"));
  EXPECT_GT(rows_[0].worst_share, 1);
  // A batch is all cases; where one was asked for, that one.
  EXPECT_THAT(rows_[1].reproduce, testing::EndsWith("/cases.json'"));
  ASSERT_TRUE(Verify("a").ok());
  EXPECT_THAT(rows_[1].reproduce, testing::EndsWith(" --case a"));
}

}  // namespace
}  // namespace plinth::verify
