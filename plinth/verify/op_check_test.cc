// Gives the harness kernels that are wrong in known ways, and sees that each is found.
#include "plinth/verify/op_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plinth/ops/registry.h"
#include "plinth/verify/judge.h"
#include "plinth/verify/op_modes.h"

namespace plinth::verify {
namespace {

using ops::Case;
using ops::CpuArgs;
using ops::CpuFns;
using ops::OpCall;
using ops::OpChecks;
using ops::OpSpec;
using ops::RefIo;
using testing::HasSubstr;
using testing::StartsWith;

// Doubles every element of x: f32 [rows, n]; one piece per row.
template <typename Row>
void ForRows(const CpuArgs& args, int64_t begin, int64_t end, Row row) {
  const View& x = args.in[0];
  const View& y = args.out[0];
  for (int64_t r = begin; r < end; ++r) {
    row(x.as<float>() + r * x.row_stride(), y.as<float>() + r * y.row_stride(), x.last(), r);
  }
}

void Good(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  });
}
void SkipsTheTail(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n / 4 * 4; ++i) y[i] = 2 * x[i];
  });
}
void Overruns(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
    y[n] = 0;
  });
}
void IgnoresStrides(const CpuArgs& args, int64_t, int64_t) {
  const auto* x = args.in[0].as<const float>();
  for (int64_t i = 0; i < args.in[0].size(); ++i) args.out[0].as<float>()[i] = 2 * x[i];
}
void ChangesItsInput(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] *= 2;
  });
}
void ReadsAfterWriting(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) y[i] = 0;
    for (int64_t i = 0; i < n; ++i) y[i] += 2 * x[i];
  });
}
void DependsOnTheRow(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t row) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] * (row % 2 == 0 ? 1 : 1 + 0x1p-23f);
  });
}
void DependsOnThePieces(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [&](const float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] * (end - begin > 1 ? 1 : 1 + 0x1p-23f);
  });
}
void DependsOnAlignment(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [&](const float* x, float* y, int64_t n, int64_t) {
    const bool aligned = reinterpret_cast<uintptr_t>(args.in[0].data) % 64 == 0;
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] * (aligned ? 1 : 1 + 0x1p-23f);
  });
}
void UsesOldOutput(const CpuArgs& args, int64_t begin, int64_t end) {
  ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 0 * y[i];
  });
}
void OverrunsScratch(const CpuArgs& args, int64_t begin, int64_t end) {
  args.scratch[8] = std::byte{1};
  Good(args, begin, end);
}
void Reports(const CpuArgs& args, int64_t begin, int64_t end) {
  *args.fault = {"row is cursed", 13, 0};
  Good(args, begin, end);
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  if (call.in(0).dtype != DType::kF32) return ops::Refuse(call, "x is not f32");
  return std::vector<ValueType>{call.in(0)};
}
ops::Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {static_cast<double>(in[0].size()), 0, ops::Bytes(in) + ops::Bytes(out)};
}
void Reference(const OpCall&, RefIo& io) {
  for (size_t i = 0; i < io.out[0].data.size(); ++i) io.out[0].data[i] = 2 * io.in[0].data[i];
}
std::vector<Case> Cases() { return {{"plain", {{.dims = {6, 7}}}, {}}}; }
std::vector<double> Limit(const OpCall&, const RefIo& io, size_t) { return ops::UlpLimit(io.out[0], 4); }

// The operator with one kernel, right or wrong.
struct Doubler {
  explicit Doubler(ops::CpuFn* kernel) {
    spec.name = "doubler";
    spec.summary = "twice";
    spec.inputs = {{"x", false, ops::Layout::kRows}};
    spec.infer = Infer;
    spec.cost = CostOf;
    spec.in_place = 1;
    spec.rows_independent = true;
    spec.cpu = {{.name = "f32",
                 .run = CpuFns{{kernel, kernel, kernel}},
                 .refuse = nullptr,
                 .pieces = [](const View* in, const View*, const ops::Params&) { return in[0].rows(); },
                 .scratch_bytes = [](const OpCall&, const View*, const View*, Isa) { return int64_t{8}; }}};
    checks.spec = &spec;
    checks.reference = Reference;
    checks.cases = Cases;
    checks.refusals = [] { return std::vector<ops::Refusal>{}; };
    checks.tolerance = {.kind = ops::ToleranceClass::kArithmetic, .limit = Limit};
  }
  OpSpec spec;
  OpChecks checks;
};

CheckRow Correct(ops::CpuFn* kernel, const Case& definition = Cases()[0]) {
  const Doubler doubler(kernel);
  Threads threads(1);
  const auto c = MakeOpCase(doubler.checks, definition, 0);
  EXPECT_TRUE(c.ok()) << c.status();
  return CheckCorrect(*c, "f32", {&threads, Isa::kV2}).rows.at(0);
}

CheckRow Bitwise(ops::CpuFn* kernel) {
  const Doubler doubler(kernel);
  Threads threads(1), two(2), three(3);
  const auto c = MakeOpCase(doubler.checks, Cases()[0], 0);
  EXPECT_TRUE(c.ok()) << c.status();
  return CheckBitwise(*c, "f32", {&threads, Isa::kV2}, {&two, &three}).rows.at(0);
}

TEST(CorrectModeTest, PassesARightKernel) {
  const CheckRow row = Correct(Good);
  EXPECT_EQ(row.status, CheckStatus::kPassed) << row.detail;
  EXPECT_EQ(row.max_abs, 0);
}

void ExpectFailure(const CheckRow& row, const std::string& says) {
  EXPECT_EQ(row.status, CheckStatus::kFailed);
  EXPECT_THAT(row.detail, HasSubstr(says));
}

// Element 0 is off by 8 with limit 16, element 1 by 1 with limit 1.25: the second is nearer to its limit.
TEST(CorrectModeTest, TheLimitIsThatOfTheElementNearestToIt) {
  Doubler doubler([](const CpuArgs& args, int64_t begin, int64_t end) {
    ForRows(args, begin, end, [](const float* x, float* y, int64_t n, int64_t) {
      for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + (i == 0 ? 8 : 1);
    });
  });
  doubler.spec.in_place = 0;
  doubler.checks.tolerance.limit = [](const OpCall&, const RefIo& io, size_t) {
    std::vector<double> limits(io.out[0].data.size(), 2);
    limits[0] = 16, limits[1] = 1.25;
    return limits;
  };
  const Case definition{"plain", {{.dims = {1, 3}, .fill = ops::Fill::kConstant}}, {}};
  Threads threads(1);
  const auto c = MakeOpCase(doubler.checks, definition, 0);
  ASSERT_TRUE(c.ok()) << c.status();
  const CheckRow row = CheckCorrect(*c, "f32", {&threads, Isa::kV2}).rows.at(0);
  EXPECT_EQ(row.status, CheckStatus::kPassed) << row.detail;
  EXPECT_EQ(row.max_abs, 8);
  EXPECT_EQ(row.limit, 1.25);
  EXPECT_EQ(row.worst_share, 0.8);
}

TEST(CorrectModeTest, FindsWrongKernels) {
  ExpectFailure(Correct(SkipsTheTail), "element 4 was not written");
  ExpectFailure(Correct(Overruns), "output 0: wrote outside: byte 0 after the tensor");
  ExpectFailure(Correct(IgnoresStrides), "inputs row-strided: ");
  ExpectFailure(Correct(ChangesItsInput), "input 0: changed an input");
  ExpectFailure(Correct(ReadsAfterWriting), "in place of input 0: ");
  ExpectFailure(Correct(UsesOldOutput), "expected ");
  ExpectFailure(Correct(OverrunsScratch), "scratch: wrote outside: byte 0 after");
  ExpectFailure(Correct(Reports), "reported a fault: doubler: row is cursed (value 13 at position 0)");
}

TEST(CorrectModeTest, ExpectedFaultsMustBeReportedInTheirWords) {
  Case definition = Cases()[0];
  definition.fault = "cursed";
  EXPECT_EQ(Correct(Reports, definition).status, CheckStatus::kRefused);
  ExpectFailure(Correct(Good, definition), "reported no fault, expected \"cursed\"");
  definition.fault = "blessed";
  ExpectFailure(Correct(Reports, definition), "expected \"blessed\"");
}

TEST(BitwiseModeTest, PassesARightKernel) {
  const CheckRow row = Bitwise(Good);
  EXPECT_EQ(row.status, CheckStatus::kPassed) << row.detail;
}

TEST(BitwiseModeTest, FindsBitsThatDependOnWhatTheyMustNot) {
  ExpectFailure(Bitwise(DependsOnTheRow), "other bits with rows in reverse order");
  ExpectFailure(Bitwise(DependsOnThePieces), "other bits with pieces one by one in reverse order");
  ExpectFailure(Bitwise(DependsOnAlignment), "other bits with misaligned memory");
}

TEST(SpeedModeTest, TimesOnlyWhatIsRight) {
  const Doubler good(Good), bad(SkipsTheTail);
  Threads threads(2);
  const auto c = MakeOpCase(good.checks, Cases()[0], 0);
  ASSERT_TRUE(c.ok());
  const CheckRow row = CheckSpeed(*c, "f32", {&threads, Isa::kV2}).rows.at(0);
  EXPECT_EQ(row.status, CheckStatus::kPassed) << row.detail;
  EXPECT_GT(row.ms, 0);
  EXPECT_LE(row.ms_low, row.ms);
  EXPECT_LE(row.ms, row.ms_high);
  EXPECT_NEAR(row.gb_per_second * row.ms, 6 * 7 * 2 * 4 * 1e-6, 1e-12);
  const auto wrong = MakeOpCase(bad.checks, Cases()[0], 0);
  ASSERT_TRUE(wrong.ok());
  EXPECT_EQ(CheckSpeed(*wrong, "f32", {&threads, Isa::kV2}).rows.at(0).ms, 0);
}

TEST(SelfTestTest, NoticesABlindTolerance) {
  Doubler doubler(Good);
  EXPECT_EQ(SelfTest(doubler.checks, 0), "");
  doubler.checks.tolerance.limit = [](const OpCall&, const RefIo& io, size_t) {
    return std::vector<double>(io.out[0].data.size(), 1e39);  // beyond every float
  };
  EXPECT_THAT(SelfTest(doubler.checks, 0), HasSubstr("could not plant the first element off"));
  doubler.checks.tolerance.limit = [](const OpCall&, const RefIo& io, size_t) {
    return std::vector<double>(io.out[0].data.size(), NAN);
  };
  EXPECT_THAT(SelfTest(doubler.checks, 0), HasSubstr("the limit of element 0 is nan"));
}

TEST(SelfTestTest, NoticesAToleranceThatARightResultFails) {
  Doubler doubler(Good);
  doubler.checks.reference = [](const OpCall&, RefIo& io) {
    for (double& y : io.out[0].data) y = 0.1;
  };
  doubler.checks.tolerance.limit = [](const OpCall&, const RefIo& io, size_t) {
    return std::vector<double>(io.out[0].data.size(), 1e-12);
  };
  EXPECT_THAT(SelfTest(doubler.checks, 0), HasSubstr("the reference itself, rounded once, fails"));
}

TEST(SelfTestTest, NeedsACaseToPlantFaultsIn) {
  Doubler doubler(Good);
  doubler.checks.cases = [] { return std::vector<Case>{{"none", {{.dims = {0, 7}}}, {}}}; };
  EXPECT_THAT(SelfTest(doubler.checks, 0), HasSubstr("no smoke case has finite outputs"));
}

Status Refused(OpOptions options) {
  Threads threads(1);
  return VerifyOps({&threads, Isa::kV2}, options, {}).status();
}

TEST(VerifyOpsTest, RefusesFiltersThatNameNothing) {
  EXPECT_THAT(Refused({.op = "sofmax"}).message(), HasSubstr("no operator is named \"sofmax\"; there are "));
  EXPECT_THAT(Refused({.op = "softmax", .case_name = "n18"}).message(),
              HasSubstr("softmax has no case \"n18\""));
  EXPECT_THAT(std::string(Refused({.case_name = "nope"}).message()),
              StartsWith("no operator has a case \"nope\" in mode correct; "));
  EXPECT_THAT(Refused({.op = "softmax", .kernel = "gpu"}).message(),
              HasSubstr("softmax has no kernel \"gpu\"; there are f32"));
  EXPECT_THAT(std::string(Refused({.kernel = "gpu"}).message()),
              StartsWith("no operator has a kernel \"gpu\"; "));
  const Status device = Refused({.device = "cuda:0"});
  EXPECT_EQ(device.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(device.message(), HasSubstr("no such device \"cuda:0\""));
  EXPECT_EQ(Refused({.interrupted = [] { return true; }}).code(), absl::StatusCode::kCancelled);
}

TEST(VerifyOpsTest, FiltersThatLeaveNoCaseAreRefused) {
  const Status status = Refused({.op = "softmax", .dtype = DType::kF64});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              StartsWith("no case fits --mode correct --op softmax --dtype f64 --tier smoke; "
                         "the cases there are have "));
  EXPECT_THAT(status.message(), HasSubstr("f32"));
  EXPECT_THAT(Refused({.op = "reshape", .kernel = "view", .mode = OpMode::kBitwise}).message(),
              HasSubstr(" --kernel view --tier smoke; that kernel takes none of them; there are "));
}

TEST(VerifyOpsTest, ADocumentedRefusalIsGood) {
  Threads threads(1);
  std::vector<CheckRow> rows;
  const auto summary = VerifyOps({&threads, Isa::kV2}, {.op = "softmax", .case_name = "missing"},
                                 [&](const CheckRow& row) { rows.push_back(row); });
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].status, CheckStatus::kRefused);
  EXPECT_EQ(summary->compared, 0);
  EXPECT_EQ(summary->refused, 1);
  EXPECT_EQ(summary->verdict(), "pass");
  EXPECT_EQ(ToText(*summary), "1 refused as documented\n0 passed, 0 failed");
}

TEST(VerifyOpsTest, SharesOfLimitsDoNotContradictTheStatus) {
  Threads threads(1);
  const auto summary = VerifyOps(
      {&threads, Isa::kV2}, {.op = "softmax", .program = "my tools/plinth"}, [](const CheckRow& row) {
        if (row.status != CheckStatus::kPassed) return;
        EXPECT_LE(row.worst_share, 1) << row.case_name;
        EXPECT_EQ(row.max_abs > 0, row.worst_share > 0) << row.case_name;
        EXPECT_THAT(row.reproduce, StartsWith("PLINTH_ISA=v2 'my tools/plinth' verify ops --op softmax "));
      });
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_GT(summary->compared, 0);
}

TEST(VerifyOpsTest, OneCaseRunsByItsReproduceLine) {
  Threads threads(1);
  std::vector<CheckRow> rows;
  const auto summary = VerifyOps({&threads, Isa::kV2}, {.op = "softmax", .case_name = "n17"},
                                 [&](const CheckRow& row) { rows.push_back(row); });
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].reproduce,
            "PLINTH_ISA=v2 plinth verify ops --op softmax --case n17 --mode correct --kernel f32");
  const auto j = nlohmann::json::parse(ToJson(rows[0]));
  EXPECT_EQ(j["status"], "passed");
  EXPECT_EQ(j["op"], "softmax");
  EXPECT_FALSE(j.contains("model"));
  for (const char* key : {"case", "output", "device", "dtype", "mode", "max_abs", "rel_l2", "max_ulp",
                          "limit", "worst_share"}) {
    EXPECT_TRUE(j.contains(key)) << key;
  }
  EXPECT_EQ(ToJson(*summary),
            R"({"summary":true,"compared":1,"passed":1,"failed":0,"refused":0,"mistrusted":0,"unproven":0,)"
            R"("verdict":"pass"})");
  EXPECT_EQ(ToText(*summary), "1 passed, 0 failed");
}

TEST(RowsTest, NumbersThatAreNotFiniteBecomeNull) {
  CheckRow row;
  row.max_abs = NAN;
  row.rel_l2 = INFINITY;
  const auto j = nlohmann::json::parse(ToJson(row));
  EXPECT_TRUE(j["max_abs"].is_null());
  EXPECT_TRUE(j["rel_l2"].is_null());
}

TEST(RowsTest, ShellsReadQuotedWordsBack) {
  EXPECT_EQ(ShellQuoted("/a/b-c_1.json"), "/a/b-c_1.json");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("my files"), "'my files'");
  EXPECT_EQ(ShellQuoted("a=b"), "'a=b'");  // not an assignment
  EXPECT_EQ(ShellQuoted("it's $5"), "'it'\\''s $5'");
}

TEST(RowsTest, ComparisonsAndDocumentedRefusalsMakeARunGood) {
  Summary summary;
  CheckRow row;
  row.status = CheckStatus::kPassed;
  summary.Add(row);  // passed without a comparison
  EXPECT_EQ(summary.verdict(), "fail");
  EXPECT_EQ(ToText(summary), "nothing was compared\n1 passed, 0 failed");
  Summary refusing;
  row.status = CheckStatus::kRefused;
  refusing.Add(row);
  EXPECT_EQ(refusing.verdict(), "pass");
  row.status = CheckStatus::kPassed;
  row.compared = true;
  summary.Add(row);
  EXPECT_EQ(summary.compared, 1);
  EXPECT_EQ(summary.verdict(), "pass");
  row.status = CheckStatus::kWarned;
  summary.Add(row);
  EXPECT_EQ(summary.verdict(), "warn");
  row.status = CheckStatus::kMistrusted;
  summary.Add(row);
  EXPECT_EQ(summary.verdict(), "fail");
}

TEST(RowsTest, EveryStatusCountsOnce) {
  Summary summary;
  for (int s = 0; s <= static_cast<int>(CheckStatus::kExtra); ++s) {
    CheckRow row;
    row.status = static_cast<CheckStatus>(s);
    summary.Add(row);
  }
  EXPECT_EQ(summary.compared, 0);
  EXPECT_EQ(summary.passed, 2);
  EXPECT_EQ(summary.failed, 4);  // failed, unimplemented, missing, extra
  EXPECT_EQ(summary.refused, 1);
  EXPECT_EQ(summary.mistrusted, 1);
  EXPECT_EQ(summary.unproven, 1);
  EXPECT_EQ(summary.verdict(), "fail");
}

TEST(ModesTest, ParsesListsAndRefusesTheRest) {
  bool list = false;
  const auto modes = ParseModes("list,speed,correct", &list);
  ASSERT_TRUE(modes.ok());
  EXPECT_TRUE(list);
  EXPECT_EQ(*modes, (std::vector<OpMode>{OpMode::kSpeed, OpMode::kCorrect}));
  EXPECT_THAT(ParseModes("correct,fast", &list).status().message(), HasSubstr("mode \"fast\" is unknown"));
  EXPECT_THAT(ParseModes("gradient", &list).status().message(), HasSubstr("no operator has gradients yet"));
  EXPECT_THAT(ParseTier("weekly").status().message(), HasSubstr("tier \"weekly\" is unknown"));
}

TEST(ListTest, TellsWhatIsKnownAboutAnOperator) {
  const auto list = ListOps("softmax");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->at(0).tolerance, "E softmax");
  const auto j = nlohmann::json::parse(ToJson(list->at(0)));
  EXPECT_GT(j["cases"]["smoke"], 10);
  EXPECT_EQ(j["kernels"][0], "f32");
  EXPECT_THAT(ListOps("nope").status().message(), HasSubstr("no operator is named \"nope\""));
}

}  // namespace
}  // namespace plinth::verify
