#include "plinth/engine/future_rows.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "plinth/base/interrupt.h"
#include "plinth/formats/json.h"

namespace plinth::engine {
namespace {

// Whether each item's rows stand together.
StatusOr<bool> ItemsStandTogether(const CsvSource& source, int item_column) {
  if (item_column < 0) return true;
  PLINTH_ASSIGN_OR_RETURN(formats::CsvReader reader, source.Reader());
  std::unordered_set<std::string> seen;
  std::string current;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (!more) return true;
    if (reader.line() % 4096 == 0) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    const std::string_view item = reader.row()[static_cast<size_t>(item_column)];
    if (!seen.empty() && item == current) continue;
    current = std::string(item);
    if (!seen.insert(current).second) return false;
  }
}

// As on a grid: steps below a day are spans of absolute time, others follow the local calendar.
bool SameTime(const series::Timestamp& a, const series::Timestamp& b, const series::Frequency& frequency) {
  const bool absolute = frequency.kind == series::Frequency::Kind::kMicros;
  return absolute ? a.micros == b.micros : a.local() == b.local();
}

std::string ItemName(const SeriesItem& item) {
  return item.item.empty() ? "" : StrCat("item ", formats::QuotedShort(item.item), ": ");
}

}  // namespace

StatusOr<FutureRows> FutureRows::Open(const std::string& path, const FutureColumns& names,
                                      const std::vector<CovariateColumn>& covariates,
                                      const series::TimeReader& time,
                                      const std::vector<CategoryCodes*>& codes) {
  PLINTH_ASSIGN_OR_RETURN(CsvSource source, CsvSource::Open(path));
  PLINTH_ASSIGN_OR_RETURN(const formats::CsvReader header, source.Reader());
  FoundColumns columns;
  if (!names.time.empty()) {
    PLINTH_ASSIGN_OR_RETURN(columns.time, header.Column(names.time));
  }
  if (!names.item.empty()) {
    PLINTH_ASSIGN_OR_RETURN(columns.item, header.Column(names.item));
  }
  std::vector<CategoryCodes*> own_codes;
  std::vector<size_t> ahead;
  std::vector<std::string> own_names;
  for (size_t c = 0; c < covariates.size(); ++c) {
    if (!covariates[c].ahead) continue;
    columns.covariates.push_back(covariates[c]);
    PLINTH_ASSIGN_OR_RETURN(columns.covariates.back().column, header.Column(covariates[c].name));
    own_codes.push_back(codes[c]);
    own_names.push_back(covariates[c].name);
    ahead.push_back(c);
  }
  PLINTH_ASSIGN_OR_RETURN(const bool together, ItemsStandTogether(source, columns.item));
  PLINTH_ASSIGN_OR_RETURN(ItemReader reader, ItemReader::Open(source, std::move(columns), time, own_codes));
  FutureRows future(std::move(source), std::move(reader));
  future.time_name_ = names.time;
  future.ahead_ = std::move(ahead);
  future.names_ = std::move(own_names);
  if (!together) {
    PLINTH_ASSIGN_OR_RETURN(std::vector<ItemRows> all, future.reader_.All());
    for (ItemRows& rows : all) {
      std::string item = rows.item;
      future.waiting_.emplace(std::move(item), std::move(rows));
    }
  }
  return future;
}

// False where there are none.
StatusOr<bool> FutureRows::Take(const std::string& item, ItemRows* rows) {
  if (const auto at = waiting_.find(item); at != waiting_.end()) {
    *rows = std::move(at->second);
    waiting_.erase(at);
    return true;
  }
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader_.Next(rows));
    if (!more) return false;
    if (rows->item == item) return true;
    std::string name = rows->item;
    waiting_.emplace(std::move(name), std::move(*rows));
  }
}

std::string FutureRows::Where(const SeriesItem& item) const {
  return StrCat(source_.path(), ": ", ItemName(item));
}

Status FutureRows::Append(const std::string& data, int64_t steps, SeriesItem* item) {
  ItemRows rows;
  PLINTH_ASSIGN_OR_RETURN(const bool found, Take(item->item, &rows));
  if (!found) {
    return absl::InvalidArgumentError(StrCat(source_.path(), ": has no rows of item ",
                                             formats::QuotedShort(item->item), "; each item of ", data,
                                             " needs its rows from ", item->TimeText(item->length()), " to ",
                                             item->TimeText(item->length() + steps - 1)));
  }
  PLINTH_RETURN_IF_ERROR(CheckRows(rows, data, steps, *item));
  for (size_t c = 0; c < ahead_.size(); ++c) {
    CovariateValues& to = item->covariates[ahead_[c]];
    const CovariateValues& from = rows.covariates[c];
    if (!from.codes.empty()) to.codes.insert(to.codes.end(), from.codes.begin(), from.codes.begin() + steps);
    if (from.numbers.empty()) continue;
    to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.begin() + steps);
    NoteGapsAhead(source_.path(), names_[c], to, steps, item);
  }
  return absl::OkStatus();
}

Status FutureRows::CheckRows(const ItemRows& rows, const std::string& data, int64_t steps,
                             const SeriesItem& item) const {
  const int64_t end = item.length();
  if (!item.numbered && rows.count() > 0 && reader_.style().is_local() != item.style.is_local()) {
    const bool here = item.style.is_local();
    return absl::InvalidArgumentError(StrCat(
        Where(item), "line ", rows.lines[0], ": the stamps of column ", formats::QuotedShort(time_name_),
        here ? " name an offset from UTC and those of " : " name no offset from UTC and those of ", data,
        here ? " do not" : " do", "; write them alike in both files"));
  }
  for (size_t k = 0; !item.numbered && k < rows.times.size() && static_cast<int64_t>(k) < steps; ++k) {
    const series::Timestamp wanted =
        series::Advance(item.origin, item.frequency, end + static_cast<int64_t>(k));
    if (!SameTime(wanted, rows.times[k], item.frequency)) return WrongRow(rows, k, data, item);
  }
  if (rows.count() >= steps) return absl::OkStatus();
  const std::string needed =
      item.numbered ? "" : StrCat(", up to ", series::FormatTime(rows.times.back(), reader_.style()));
  const std::string right =
      item.numbered ? StrCat(steps, " rows") : StrCat("rows up to ", item.TimeText(end + steps - 1));
  return absl::InvalidArgumentError(StrCat(Where(item), "has ", rows.count(),
                                           rows.count() == 1 ? " future row" : " future rows", needed,
                                           "; a horizon of ", steps, " needs ", right));
}

// Row k is not the one that must stand there.
Status FutureRows::WrongRow(const ItemRows& rows, size_t k, const std::string& data,
                            const SeriesItem& item) const {
  const int64_t end = item.length(), at = end + static_cast<int64_t>(k);
  const series::Timestamp& t = rows.times[k];
  const auto text = [&](size_t i) {
    return StrCat("line ", rows.lines[i], " (", series::FormatTime(rows.times[i], reader_.style()), ")");
  };
  const int64_t position = series::StepsUpTo(item.origin, item.frequency, t);
  const bool on_grid = SameTime(series::Advance(item.origin, item.frequency, position), t, item.frequency);
  std::string wrong;
  if (k > 0 && t.micros <= rows.times[k - 1].micros) {
    wrong = StrCat("does not lie after ", text(k - 1));
  } else if (position < end && on_grid) {
    wrong = StrCat("does not lie after the last row of ", data, " (", item.TimeText(end - 1), ")");
  } else if (!on_grid) {
    wrong = StrCat("is off the grid of ", item.FrequencyName(), " that the rows of ", data, " lie on");
  } else {
    const int64_t missing = position - at;
    wrong = StrCat("leaves out ", missing, missing == 1 ? " step of " : " steps of ", item.FrequencyName());
  }
  return absl::InvalidArgumentError(StrCat(
      Where(item), text(k), " ", wrong, "; the row of ", item.TimeText(at), " is expected there, since ",
      k == 0 ? StrCat(data, " ends at ", item.TimeText(end - 1))
             : StrCat("rows follow in steps of ", item.FrequencyName())));
}

void NoteGapsAhead(const std::string& path, const std::string& name, const CovariateValues& values,
                   int64_t steps, SeriesItem* item) {
  const auto begin = values.numbers.end() - steps;
  const int64_t gaps = std::count_if(begin, values.numbers.end(), [](double v) { return std::isnan(v); });
  if (gaps == 0) return;
  item->notes.push_back(StrCat(path, ": ", ItemName(*item), "column ", formats::QuotedShort(name), ": ", gaps,
                               " of ", steps,
                               steps == 1 ? " future value is empty and counts as unknown"
                                          : " future values are empty and count as unknown"));
}

}  // namespace plinth::engine
