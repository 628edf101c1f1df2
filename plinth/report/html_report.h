// Writes forecasts as one self-contained HTML page with an interactive chart per series.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/report/languages.h"
#include "plinth/report/series_view.h"

namespace plinth {

enum class EvidenceState { kProven, kUnproven, kStale, kFailed };

// What stands above the charts. Texts are taken as hostile and escaped; an empty one is left out.
struct ReportFacts {
  std::string model;
  std::string model_digest;
  std::string data_file;
  std::string frequency;  // as the reader should see it, "30 min"
  int64_t horizon = 0;    // steps; 0: left out
  EvidenceState evidence = EvidenceState::kUnproven;
  std::string version;                                    // of Plinth
  std::string created;                                    // as the reader should see it
  std::vector<std::pair<std::string, std::string>> more;  // further names and values, in the page's language
};

struct HtmlOptions {
  Language language = Language::kEnglish;
  // At most so many past values of a series enter the page, the newest ones; the page says what is missing.
  int64_t max_past = 4000;
  // Over all series; once it is spent, each further one gets max(120, 3 horizons) past values.
  int64_t past_budget = 2'000'000;
};

// Writes the page piece by piece: memory does not grow with the number of series. The page needs no network
// and allows none (its content security policy names the digests of its two scripts). Usage: any number of
// Add(), then Finish(). Not thread-safe.
class HtmlReport {
 public:
  // Takes a piece of the page in UTF-8; its error ends the report.
  using Sink = std::function<Status(std::string_view)>;

  HtmlReport(ReportFacts facts, HtmlOptions options, Sink sink);

  // Errors: InvalidArgument for an inconsistent series (which is left out, and the report goes on), those of
  // the sink.
  Status Add(const SeriesView& series);

  // Writes the end of the page.
  Status Finish();

 private:
  Status Begin();
  Status Write(std::string_view piece);
  size_t AppendTime(const TimePoints& time, size_t first, std::string* out);
  size_t PastLimit(size_t steps) const;

  ReportFacts facts_;
  HtmlOptions options_;
  Sink sink_;
  bool begun_ = false;
  Status status_;     // the sink's first error
  std::string tail_;  // what follows the series
  int64_t past_written_ = 0;
  size_t times_ = 0;                                         // time axes written
  std::deque<std::pair<size_t, std::string>> recent_times_;  // the last few, with their numbers
};

// The whole page as one string, for few series.
StatusOr<std::string> HtmlPage(const ReportFacts& facts, const HtmlOptions& options,
                               const std::vector<SeriesView>& series);

}  // namespace plinth
