#include "plinth/verify/rows.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "plinth/base/text.h"

namespace plinth::verify {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

}  // namespace

std::string_view StatusName(CheckStatus status) {
  static constexpr std::string_view kNames[] = {
      "passed", "warned", "failed", "unimplemented", "refused", "mistrusted", "unproven", "missing", "extra"};
  return kNames[static_cast<int>(status)];
}

void Summary::Add(const CheckRow& row) {
  switch (row.status) {
    case CheckStatus::kPassed:
      ++compared, ++passed;
      break;
    case CheckStatus::kWarned:
      ++compared, ++passed, ++warned_;
      break;
    case CheckStatus::kFailed:
    case CheckStatus::kExtra:
      ++compared, ++failed;
      break;
    case CheckStatus::kUnimplemented:
    case CheckStatus::kMissing:
      ++failed;
      break;
    case CheckStatus::kRefused:
      ++refused;
      break;
    case CheckStatus::kMistrusted:
      ++mistrusted;
      break;
    case CheckStatus::kUnproven:
      ++unproven;
      break;
  }
}

std::string_view Summary::verdict() const {
  if (compared == 0 || failed > 0 || mistrusted > 0) return "fail";
  return warned_ > 0 ? "warn" : "pass";
}

std::string ToJson(const CheckRow& row) {
  Json j;
  j["case"] = row.case_name;
  j["output"] = row.output;
  if (!row.op.empty()) j["op"] = row.op;
  if (!row.model.empty()) j["model"] = row.model;
  j["device"] = row.device;
  j["dtype"] = row.dtype;
  j["mode"] = row.mode;
  j["status"] = StatusName(row.status);
  j["max_abs"] = Number(row.max_abs);
  j["rel_l2"] = Number(row.rel_l2);
  j["max_ulp"] = Number(row.max_ulp);
  j["limit"] = Number(row.limit);
  j["reproduce"] = row.reproduce;
  if (!row.kernel.empty()) j["kernel"] = row.kernel;
  if (!row.isa.empty()) j["isa"] = row.isa;
  if (!row.detail.empty()) j["detail"] = row.detail;
  if (row.mode == "speed") {
    j["ms"] = {{"p10", Number(row.ms_low)}, {"p50", Number(row.ms)}, {"p90", Number(row.ms_high)}};
    j["gb_per_second"] = Number(row.gb_per_second);
    j["gflops"] = Number(row.gflops);
  }
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ToJson(const Summary& s) {
  Json j;
  j["summary"] = true;
  j["compared"] = s.compared;
  j["passed"] = s.passed;
  j["failed"] = s.failed;
  j["refused"] = s.refused;
  j["mistrusted"] = s.mistrusted;
  j["unproven"] = s.unproven;
  j["verdict"] = s.verdict();
  return j.dump();
}

std::string ToText(const CheckRow& row) {
  std::string line = StrCat(StatusName(row.status), "  ", row.op.empty() ? row.model : row.op, " ",
                            row.case_name, " ", row.output, " ", row.dtype);
  if (!row.kernel.empty()) StrAppend(&line, " (kernel ", row.kernel, ", ", row.isa, ")");
  if (row.mode == "speed" && row.status == CheckStatus::kPassed) {
    StrAppend(&line, ": ", Short(row.ms), " ms [", Short(row.ms_low), ", ", Short(row.ms_high), "], ",
              Short(row.gb_per_second), " GB/s, ", Short(row.gflops), " GFLOP/s");
  }
  if (!row.detail.empty()) StrAppend(&line, ": ", row.detail);
  if (row.status != CheckStatus::kPassed && row.status != CheckStatus::kRefused) {
    StrAppend(&line, "\n        ", row.reproduce);
  }
  return line;
}

std::string ToText(const Summary& s) {
  std::string line = StrCat(s.passed, " passed, ", s.failed, " failed");
  if (s.refused > 0) StrAppend(&line, ", ", s.refused, " refused as documented");
  if (s.mistrusted > 0) StrAppend(&line, ", ", s.mistrusted, " mistrusted");
  if (s.unproven > 0) StrAppend(&line, ", ", s.unproven, " unproven");
  if (s.compared == 0) line += ", nothing was compared";
  return line;
}

}  // namespace plinth::verify
