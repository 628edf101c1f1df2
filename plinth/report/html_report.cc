#include "plinth/report/html_report.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "plinth/base/text.h"
#include "plinth/report/assets.h"
#include "plinth/report/markup.h"
#include "plinth/report/numbers.h"

namespace plinth {
namespace {

constexpr size_t kRememberedTimes = 8;
constexpr size_t kLeastPast = 120;

// The source expression of a script's digest (Content Security Policy Level 3).
std::string ScriptDigest(std::string_view script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_Digest(script.data(), script.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64;
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return StrCat("'sha256-", std::string(base64.begin(), base64.begin() + length), "'");
}

std::string Policy() {
  return StrCat("default-src 'none'; script-src ", ScriptDigest(DygraphsScript()), " ",
                ScriptDigest(PageScript()),
                "; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'");
}

struct EvidenceWords {
  std::string_view css_class;
  Message name, meaning;
};

EvidenceWords WordsFor(EvidenceState state) {
  switch (state) {
    case EvidenceState::kProven:
      return {"proven", Message::kProven, Message::kProvenMeans};
    case EvidenceState::kStale:
      return {"stale", Message::kStale, Message::kStaleMeans};
    case EvidenceState::kFailed:
      return {"failed", Message::kFailed, Message::kFailedMeans};
    case EvidenceState::kUnproven:
      break;
  }
  return {"unproven", Message::kUnproven, Message::kUnprovenMeans};
}

std::string FactRows(const ReportFacts& facts, Language language) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](Message name, const std::string& value) {
    if (!value.empty()) rows.emplace_back(Text(language, name), value);
  };
  add(Message::kModel, facts.model);
  add(Message::kModelDigest, facts.model_digest);
  add(Message::kDataFile, facts.data_file);
  add(Message::kFrequency, facts.frequency);
  if (facts.horizon > 0) add(Message::kHorizon, Text(language, Message::kSteps, {Count(facts.horizon)}));
  rows.insert(rows.end(), facts.more.begin(), facts.more.end());
  add(Message::kVersion, facts.version.empty() ? "" : StrCat("Plinth ", facts.version));
  add(Message::kCreated, facts.created);
  std::string out;
  for (const auto& [name, value] : rows) {
    StrAppend(&out, "<div><dt>", EscapeHtml(name), "</dt><dd dir=\"auto\">", EscapeHtml(value),
              "</dd></div>\n");
  }
  return out;
}

std::string StringsJson(Language language) {
  std::string out = "{";
  for (size_t i = 0; i < kPageMessages; ++i) {
    if (i > 0) out += ",\n";
    AppendJsonString(MessageAt(i).key, &out);
    out += ":";
    AppendJsonString(Text(language, MessageAt(i).id), &out);
  }
  return out + "}";
}

// The last part of a path; the whole one would not fit into a window's title.
std::string_view FileName(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

// The value of {{name}} in the frame, ready for HTML; "series" is where the frame is cut.
std::string FrameValue(std::string_view name, const ReportFacts& facts, Language language) {
  const EvidenceWords evidence = WordsFor(facts.evidence);
  const auto text = [&](Message message) { return EscapeHtml(Text(language, message)); };
  if (name == "lang") return std::string(LanguageTag(language));
  if (name == "policy") return Policy();
  if (name == "version") return EscapeHtml(facts.version);
  if (name == "title") {
    const std::string_view file = FileName(facts.data_file);
    if (file.empty()) return text(Message::kForecastReport);
    return EscapeHtml(Text(language, Message::kForecastOf, {file}));
  }
  if (name == "heading") return text(Message::kForecastReport);
  if (name == "data_name") return EscapeHtml(FileName(facts.data_file));
  if (name == "dygraphs_css") return std::string(DygraphsStyle());
  if (name == "page_css") return std::string(PageStyle());
  if (name == "dygraphs_js") return std::string(DygraphsScript());
  if (name == "page_js") return std::string(PageScript());
  if (name == "facts") return FactRows(facts, language);
  if (name == "evidence_class") return std::string(evidence.css_class);
  if (name == "evidence_means") return text(evidence.meaning);
  if (name == "evidence_label") return text(Message::kEvidence);
  if (name == "evidence") return text(evidence.name);
  if (name == "needs_script") return text(Message::kNeedsScript);
  if (name == "series_label") return text(Message::kSeries);
  if (name == "made_by") return EscapeHtml(Text(language, Message::kMadeBy, {facts.version}));
  if (name == "licences") return text(Message::kLicences);
  if (name == "dygraphs_notice") return text(Message::kDygraphsNotice);
  if (name == "dygraphs_licence") return EscapeHtml(DygraphsLicence());
  if (name == "strings") return StringsJson(language);
  return "";
}

// Fills the frame once; values are not looked at again, so that "{{facts}}" as a name stays a name.
std::string Fill(std::string_view frame, const ReportFacts& facts, Language language) {
  std::string out;
  while (true) {
    const size_t open = frame.find("{{");
    const size_t close = open == std::string_view::npos ? open : frame.find("}}", open);
    if (close == std::string_view::npos) break;
    out += frame.substr(0, open);
    out += FrameValue(frame.substr(open + 2, close - open - 2), facts, language);
    frame.remove_prefix(close + 2);
  }
  out += frame;
  return out;
}

void AppendNumbers(const std::vector<double>& values, size_t first, std::string* out) {
  *out += '[';
  for (size_t i = first; i < values.size(); ++i) {
    if (i > first) *out += ',';
    AppendJsonNumber(values[i], out);
  }
  *out += ']';
}

bool EvenSteps(const std::vector<int64_t>& ms, size_t first) {
  for (size_t i = first + 2; i < ms.size(); ++i) {
    if (ms[i] - ms[i - 1] != ms[first + 1] - ms[first]) return false;
  }
  return true;
}

std::string TimeJson(const TimePoints& time, size_t first) {
  std::string out = "{";
  const size_t count = time.ms.size() - first;
  if (EvenSteps(time.ms, first)) {
    StrAppend(&out, "\"start\":", count > 0 ? time.ms[first] : 0,
              ",\"step\":", count > 1 ? time.ms[first + 1] - time.ms[first] : 0, ",\"count\":", count);
  } else {
    out += "\"ms\":[";
    for (size_t i = first; i < time.ms.size(); ++i) StrAppend(&out, i > first ? "," : "", time.ms[i]);
    out += ']';
  }
  out += ",\"text\":[";
  for (size_t i = first; i < time.text.size(); ++i) {
    if (i > first) out += ',';
    AppendJsonString(time.text[i], &out);
  }
  return out + "]}";
}

void AppendForecast(const SeriesView& series, std::string* out) {
  *out += ",\"mean\":";
  if (series.mean.empty()) {
    *out += "null";
  } else {
    AppendNumbers(series.mean, 0, out);
  }
  *out += ",\"actual\":";
  if (series.actual.empty()) {
    *out += "null";
  } else {
    AppendNumbers(series.actual, 0, out);
  }
  *out += ",\"quantiles\":[";
  for (const QuantileLine& line : series.quantiles) {
    if (&line != &series.quantiles.front()) *out += ',';
    *out += "{\"level\":";
    AppendJsonNumber(line.level, out);
    *out += ",\"values\":";
    AppendNumbers(line.values, 0, out);
    *out += '}';
  }
  *out += ']';
}

}  // namespace

HtmlReport::HtmlReport(ReportFacts facts, HtmlOptions options, Sink sink)
    : facts_(std::move(facts)), options_(options), sink_(std::move(sink)) {}

Status HtmlReport::Write(std::string_view piece) {
  if (status_.ok()) status_ = sink_(piece);
  return status_;
}

Status HtmlReport::Begin() {
  if (begun_) return status_;
  begun_ = true;
  constexpr std::string_view kCut = "{{series}}";
  const std::string_view frame = PageFrame();
  const size_t cut = frame.find(kCut);
  tail_ = Fill(frame.substr(cut + kCut.size()), facts_, options_.language);
  return Write(Fill(frame.substr(0, cut), facts_, options_.language));
}

// Appends a time axis, unless one of the last few is the same, and returns its number: the series of one
// file mostly share their times.
size_t HtmlReport::AppendTime(const TimePoints& time, size_t first, std::string* out) {
  std::string json = TimeJson(time, first);
  for (const auto& [number, known] : recent_times_) {
    if (known == json) return number;
  }
  StrAppend(out, "<script type=\"application/json\" id=\"time-", times_, "\">", json, "</script>\n");
  recent_times_.emplace_back(times_, std::move(json));
  if (recent_times_.size() > kRememberedTimes) recent_times_.pop_front();
  return times_++;
}

size_t HtmlReport::PastLimit(size_t steps) const {
  const size_t most = static_cast<size_t>(std::max<int64_t>(0, options_.max_past));
  if (past_written_ < options_.past_budget) return most;
  return std::min(most, std::max(kLeastPast, 3 * steps));
}

Status HtmlReport::Add(const SeriesView& series) {
  if (const std::string fault = Inconsistency(series); !fault.empty()) {
    return absl::InvalidArgumentError(StrCat("series \"", SeriesTitle(series), "\": ", fault));
  }
  PLINTH_RETURN_IF_ERROR(Begin());
  const size_t total = series.history.size();
  const size_t first = total - std::min(total, PastLimit(series.forecast_time.ms.size()));
  past_written_ += static_cast<int64_t>(total - first);
  std::string out;
  const size_t past = AppendTime(series.history_time, first, &out);
  const size_t future = AppendTime(series.forecast_time, 0, &out);
  StrAppend(&out, "<script type=\"application/json\" class=\"series\" data-title=\"",
            EscapeHtml(SeriesTitle(series)), "\">{\"past\":", past, ",\"future\":", future,
            ",\"total\":", static_cast<int64_t>(total) + series.earlier, ",\"offset\":", series.utc_offset_ms,
            ",\"numbered\":", series.numbered ? "true" : "false", ",\"history\":");
  AppendNumbers(series.history, first, &out);
  AppendForecast(series, &out);
  out += "}</script>\n";
  return Write(out);
}

Status HtmlReport::Finish() {
  PLINTH_RETURN_IF_ERROR(Begin());
  return Write(tail_);
}

StatusOr<std::string> HtmlPage(const ReportFacts& facts, const HtmlOptions& options,
                               const std::vector<SeriesView>& series) {
  std::string page;
  HtmlReport report(facts, options, [&page](std::string_view piece) {
    page += piece;
    return absl::OkStatus();
  });
  for (const SeriesView& one : series) PLINTH_RETURN_IF_ERROR(report.Add(one));
  PLINTH_RETURN_IF_ERROR(report.Finish());
  return page;
}

}  // namespace plinth
