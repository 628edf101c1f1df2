// Renders the result of a run: JSON lines for programs, a table for people.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"
#include "plinth/verify/metrics/metrics.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonWriter;

std::string_view BetterName(Better better) {
  switch (better) {
    case Better::kHigher:
      return "higher";
    case Better::kLower:
      return "lower";
    case Better::kNeither:
      break;
  }
  return "neither";
}

void WriteRow(JsonWriter& w, const MetricRow& row, const std::string& task) {
  w.BeginObject();
  w.Key("metric"), w.String(row.metric);
  w.Key("task"), w.String(task);
  w.Key("better"), w.String(BetterName(row.better));
  w.Key("reference"), w.Number(row.reference);
  w.Key("candidate"), w.Number(row.candidate);
  w.Key("difference"), w.Number(row.difference);
  w.Key("interval");
  if (row.interval.has_value()) {
    w.BeginArray(), w.Number(row.interval->first), w.Number(row.interval->second), w.EndArray();
  } else {
    w.Null();
  }
  w.Key("method"), w.String(row.method);
  w.Key("samples"), w.Int(row.samples);
  w.Key("band");
  if (row.band.has_value()) {
    w.String(row.band->text);
  } else {
    w.Null();
  }
  w.Key("status"), w.String(StatusName(row.status));
  if (!row.reason.empty()) w.Key("reason"), w.String(row.reason);
  if (row.samples_needed > 0) w.Key("samples_needed"), w.Int(row.samples_needed);
  if (row.discordant.has_value()) {
    w.Key("only_reference"), w.Int(row.discordant->first);
    w.Key("only_candidate"), w.Int(row.discordant->second);
    w.Key("mcnemar_p"), w.Number(row.p_value);
  }
  w.EndObject();
  w.EndLine();
}

void WriteGroup(JsonWriter& w, const GroupRow& group) {
  w.BeginObject();
  w.Key("group"), w.String(group.group);
  w.Key("required"), w.Int(group.required);
  w.Key("present"), w.Int(group.present);
  w.Key("status"), w.String(StatusName(group.status));
  if (!group.reason.empty()) w.Key("reason"), w.String(group.reason);
  if (!group.missing_ids.empty()) {
    w.Key("missing_ids"), w.BeginArray();
    for (const std::string& id : group.missing_ids) w.String(id);
    w.EndArray();
  }
  w.Key("scores"), w.BeginObject();
  for (const GroupRow::Score& score : group.scores) {
    w.Key(score.metric), w.BeginObject();
    w.Key("reference"), w.Number(score.reference);
    w.Key("candidate"), w.Number(score.candidate);
    w.Key("difference"), w.Number(score.difference);
    w.EndObject();
  }
  w.EndObject();
  w.EndObject();
  w.EndLine();
}

void WriteText(JsonWriter& w, std::string_view key, const std::string& text) {
  if (!text.empty()) w.Key(key), w.String(text);
}

void WriteSummary(JsonWriter& w, const MetricsResult& r) {
  w.BeginObject();
  w.Key("summary"), w.Bool(true);
  w.Key("task"), w.String(r.task);
  w.Key("samples"), w.Int(r.samples);
  w.Key("agreement"), w.Number(r.agreement);
  w.Key("compared"), w.Int(static_cast<int64_t>(r.rows.size()));
  for (const CheckStatus status : {CheckStatus::kPassed, CheckStatus::kWarned, CheckStatus::kFailed,
                                   CheckStatus::kUnproven, CheckStatus::kMissing}) {
    w.Key(StatusName(status)), w.Int(r.Count(status));
  }
  w.Key("seed"), w.String(StrCat(r.seed));
  w.Key("digests"), w.BeginObject();
  WriteText(w, "reference", r.reference_digest);
  WriteText(w, "candidate", r.candidate_digest);
  WriteText(w, "labels", r.labels_digest);
  WriteText(w, "bands", r.bands_digest);
  WriteText(w, "required", r.required_digest);
  WriteText(w, "rules", r.rules_digest);
  w.EndObject();
  WriteText(w, "rules", r.rules_name);
  if (!r.details.empty()) w.Key("details"), w.Raw(r.details);
  w.Key("verdict"), w.String(r.verdict());
  w.EndObject();
  w.EndLine();
}

std::string Six(double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  return std::string(text,
                     std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 6).ptr);
}

std::string Padded(std::string text, size_t width) {
  // Continuation bytes of UTF-8 take no column.
  const auto columns = static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  if (columns < width) text.append(width - columns, ' ');
  return text;
}

}  // namespace

std::string ToJson(const MetricsResult& result) {
  std::string text;
  JsonWriter w(&text);
  for (const MetricRow& row : result.rows) WriteRow(w, row, result.task);
  for (const GroupRow& group : result.groups) WriteGroup(w, group);
  WriteSummary(w, result);
  return text;
}

std::string ToText(const MetricsResult& result) {
  size_t width = 8;
  for (const MetricRow& row : result.rows) width = std::max(width, row.metric.size());
  std::string text = StrCat(Padded("metric", width),
                            "  reference    candidate    difference   95 % interval                status\n");
  for (const MetricRow& row : result.rows) {
    const std::string interval =
        row.interval.has_value() ? StrCat("[", Six(row.interval->first), ", ", Six(row.interval->second), "]")
                                 : "-";
    StrAppend(&text, Padded(row.metric, width), "  ", Padded(Six(row.reference), 13),
              Padded(Six(row.candidate), 13), Padded(Six(row.difference), 13), Padded(interval, 29),
              StatusName(row.status), row.band.has_value() ? StrCat(" (band ", row.band->text, ")") : "",
              "\n");
  }
  for (const GroupRow& group : result.groups) {
    StrAppend(&text, "group ", formats::QuotedShort(group.group), ": ", group.present, " of at least ",
              group.required, " samples, ", StatusName(group.status), "\n");
    for (const GroupRow::Score& score : group.scores) {
      StrAppend(&text, "  ", Padded(score.metric, width), "  ", Padded(Six(score.reference), 13),
                Padded(Six(score.candidate), 13), Six(score.difference), "\n");
    }
  }
  for (const MetricRow& row : result.rows) {
    if (row.band.has_value() && !row.reason.empty()) StrAppend(&text, row.metric, ": ", row.reason, "\n");
  }
  for (const GroupRow& group : result.groups) {
    if (!group.reason.empty())
      StrAppend(&text, "group ", formats::QuotedShort(group.group), ": ", group.reason, "\n");
  }
  StrAppend(&text, result.samples, " samples, ", Six(100 * result.agreement), " % with identical answers\n");
  StrAppend(&text, result.Count(CheckStatus::kPassed), " passed, ", result.Count(CheckStatus::kWarned),
            " warned, ", result.Count(CheckStatus::kFailed) + result.Count(CheckStatus::kMissing),
            " failed, ", result.Count(CheckStatus::kUnproven), " unproven: ", result.verdict(), "\n");
  return text;
}

}  // namespace plinth::verify::metrics
