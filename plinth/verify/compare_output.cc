#include <cstdio>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/compare_files.h"

namespace plinth::verify {
namespace {

using formats::JsonWriter;

std::string Short(double x, const char* format = "%.3g") {
  char text[32];
  std::snprintf(text, sizeof(text), format, x);
  return text;
}

void Numbers(JsonWriter& w, std::string_view key, const auto& values) {
  w.Key(key);
  w.BeginArray();
  for (const auto v : values) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(v)>>) {
      w.Int(v);
    } else {
      w.Number(v);
    }
  }
  w.EndArray();
}

void Side(JsonWriter& w, std::string_view key, const SideCounts& s) {
  w.Key(key);
  w.BeginObject();
  const auto count = [&](std::string_view name, int64_t value) { w.Key(name), w.Int(value); };
  const auto number = [&](std::string_view name, double value) { w.Key(name), w.Number(value); };
  count("nan", s.nan), count("pos_inf", s.pos_inf), count("neg_inf", s.neg_inf);
  count("zero", s.zero), count("subnormal", s.subnormal), count("canary", s.canary);
  number("min", s.min), number("max", s.max), number("mean", s.mean), number("rms", s.rms),
      number("l2", s.l2);
  w.EndObject();
}

void Statistics(JsonWriter& w, const CompareRow& row) {
  const Difference& d = row.difference;
  const auto count = [&](std::string_view key, int64_t value) { w.Key(key), w.Int(value); };
  const auto number = [&](std::string_view key, double value) { w.Key(key), w.Number(value); };
  count("count", d.count), count("finite_both", d.finite_both), count("unequal", d.unequal);
  count("nan_both", d.nan_both());
  number("max_abs", d.max_abs);
  count("worst", d.worst);
  number("worst_reference", d.worst_a), number("worst_candidate", d.worst_b);
  number("max_rel", d.max_rel), number("p99_rel", d.p99_rel), number("p999_rel", d.p999_rel),
      number("floor", d.floor);
  number("rel_l2", d.rel_l2);
  w.Key("limit");
  if (row.limit >= 0) {
    w.Number(row.limit);
  } else {
    w.Null();
  }
  number("rmse", d.rmse), number("l2", d.l2), number("mean_error", d.mean_error),
      number("balance", d.balance);
  number("cosine", d.cosine), number("implied_rel_l2", d.implied_rel_l2);
  number("max_ulp", d.max_ulp);
  Numbers(w, "ulp_histogram", d.ulp_histogram);
  count("nan_mismatch", d.nan_mismatch), count("inf_mismatch", d.inf_mismatch),
      count("first_mismatch", d.first_mismatch);
  count("zero_sign_mismatch", d.zero_sign_mismatch);
  Side(w, "reference", d.a), Side(w, "candidate", d.b);
  Numbers(w, "lane_max", d.lane_max), Numbers(w, "tile_max", d.tile_max);
  count("tile_elements", d.tile_elements);
  w.Key("level"), w.String(LevelName(row.level));
  if (!d.sha256_a.empty()) {
    w.Key("sha256_reference"), w.String(d.sha256_a);
    w.Key("sha256_candidate"), w.String(d.sha256_b);
  }
}

}  // namespace

std::string ToJson(const CompareRow& row) {
  std::string out;
  JsonWriter w(&out);
  const auto text = [&](std::string_view key, std::string_view value) { w.Key(key), w.String(value); };
  w.BeginObject();
  text("tensor", row.tensor);
  text("status", StatusName(row.status));
  if (!row.candidate_name.empty()) text("candidate_name", row.candidate_name);
  w.Key("index"), w.Int(row.index);
  if (row.ranks) {
    w.Key("rank"), w.Int(row.rank);
    w.Key("repeat"), w.Int(row.repeat);
  }
  if (!row.op.empty()) text("op", row.op);
  if (!row.dtype.empty()) text("dtype", row.dtype), Numbers(w, "shape", row.dims);
  if (!row.candidate_dtype.empty() && (row.candidate_dtype != row.dtype || row.candidate_dims != row.dims)) {
    text("candidate_dtype", row.candidate_dtype), Numbers(w, "candidate_shape", row.candidate_dims);
  }
  if (row.difference.count > 0) Statistics(w, row);
  if (row.reference_grid.has_value()) text("reference_grid", GridName(*row.reference_grid));
  if (row.candidate_grid.has_value()) text("candidate_grid", GridName(*row.candidate_grid));
  if (row.reference_error.has_value()) {
    w.Key("reference_error"), w.Number(*row.reference_error);
    text("reference_level", LevelName(LevelOfError(*row.reference_error)));
    w.Key("candidate_error"), w.Number(*row.candidate_error);
    text("candidate_level", LevelName(LevelOfError(*row.candidate_error)));
  }
  w.Key("reasons");
  w.BeginArray();
  for (const std::string& reason : row.reasons) w.String(reason);
  w.EndArray();
  w.Key("findings");
  w.BeginArray();
  for (const Finding& finding : row.findings) {
    w.BeginObject();
    text("id", finding.id), text("text", finding.text);
    w.EndObject();
  }
  w.EndArray();
  if (row.judged.has_value()) WriteJson(*row.judged, &w);
  w.EndObject();
  return out;
}

std::string ToJson(const CompareSummary& s) {
  std::string out;
  JsonWriter w(&out);
  const auto count = [&](std::string_view key, int64_t value) { w.Key(key), w.Int(value); };
  w.BeginObject();
  w.Key("summary"), w.Bool(true);
  count("tensors", s.tensors), count("compared", s.compared), count("bytes", s.bytes);
  w.Key("seconds"), w.Number(s.seconds);
  w.Key("gb_per_second"), w.Number(s.seconds > 0 ? static_cast<double>(s.bytes) / s.seconds / 1e9 : 0);
  count("passed", s.passed), count("warned", s.warned), count("failed", s.all_failed());
  count("missing", s.missing), count("extra", s.extra), count("unproven", s.unproven);
  count("with_nan", s.with_nan);
  w.Key("first_failed");
  if (s.first_failed.empty()) {
    w.Null();
  } else {
    w.String(s.first_failed);
  }
  if (s.worst_rank >= 0) count("worst_rank", s.worst_rank);
  if (s.rules.has_value()) WriteJson(*s.rules, &w);
  w.Key("verdict"), w.String(s.verdict());
  w.EndObject();
  return out;
}

std::string ToText(const CompareRow& row) {
  std::string line =
      StrCat(StatusName(row.status), std::string(8 - std::min<size_t>(8, StatusName(row.status).size()), ' '),
             " ", row.tensor);
  if (row.ranks)
    StrAppend(&line, " (rank ", row.rank, row.repeat > 0 ? StrCat(", repeat ", row.repeat) : "", ")");
  if (!row.dtype.empty()) StrAppend(&line, "  ", row.dtype, "[", Join(row.dims, ", "), "]");
  if (row.compared) {
    const Difference& d = row.difference;
    StrAppend(&line, "  rel_l2 ", Short(d.rel_l2), "  max_abs ", Short(d.max_abs), "  ulp ", Short(d.max_ulp),
              "  cosine ", Short(d.cosine, "%.9g"), " (allows ", Short(d.implied_rel_l2), ")");
    if (d.nan_both() > 0) StrAppend(&line, "  NaN on both sides at ", d.nan_both(), " of ", d.count);
  }
  if (row.reference_error.has_value()) {
    StrAppend(&line, "\n           against the truth: reference ", Short(*row.reference_error), " (",
              LevelName(LevelOfError(*row.reference_error)), "), candidate ", Short(*row.candidate_error),
              " (", LevelName(LevelOfError(*row.candidate_error)), ")");
  }
  if (row.judged.has_value()) {
    for (const std::string& text : Lines(*row.judged)) StrAppend(&line, "\n           ", text);
  }
  // What is unproven stands above already, with what it lacks.
  const bool said = row.judged.has_value() && row.status == CheckStatus::kUnproven;
  for (const std::string& reason : row.reasons) {
    if (!said) StrAppend(&line, "\n           ", reason);
  }
  for (const Finding& finding : row.findings) StrAppend(&line, "\n           -> ", finding.text);
  return line;
}

std::string ToText(const CompareSummary& s) {
  std::string text;
  if (s.rules.has_value()) {
    for (const std::string& line : Lines(*s.rules)) StrAppend(&text, line, "\n");
  }
  if (!s.first_failed.empty()) StrAppend(&text, "first failed: ", s.first_failed, "\n");
  if (s.worst_rank >= 0) StrAppend(&text, "worst rank: ", s.worst_rank, "\n");
  if (s.with_nan > 0) {
    StrAppend(&text, "NaN in the same places on both sides: ", s.with_nan,
              s.with_nan == 1 ? " tensor, " : " tensors, the first ", s.first_with_nan, "\n");
  }
  const double rate = s.seconds > 0 ? static_cast<double>(s.bytes) / s.seconds / 1e9 : 0;
  StrAppend(&text, s.compared, s.compared == 1 ? " tensor" : " tensors", " compared, ",
            Short(static_cast<double>(s.bytes) / 1e9), " GB in ", Short(s.seconds), " s (", Short(rate),
            " GB/s)");
  if (s.missing > 0) StrAppend(&text, ", ", s.missing, " missing");
  if (s.extra > 0) StrAppend(&text, ", ", s.extra, " extra", s.extra_allowed ? " (allowed)" : "");
  if (s.unproven > 0) StrAppend(&text, ", ", s.unproven, " unproven");
  if (s.warned > 0) StrAppend(&text, ", ", s.warned, " warned");
  if (s.compared == 0) StrAppend(&text, "; nothing compared is a failure");
  return StrCat(text, "\n", s.passed + s.warned, " passed, ", s.all_failed(), " failed");
}

}  // namespace plinth::verify
