#include "plinth/engine/series_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plinth/base/interrupt.h"
#include "plinth/formats/json.h"
#include "plinth/series/timestamp.h"

namespace plinth::engine {
namespace {

// Steps of the past: up to the last one at which a target has a value.
size_t PastSteps(const std::vector<std::vector<double>>& targets) {
  size_t past = 0;
  for (const auto& values : targets) {
    const auto last = std::find_if(values.rbegin(), values.rend(), [](double v) { return std::isfinite(v); });
    past = std::max(past, static_cast<size_t>(values.rend() - last));
  }
  return past;
}

// Whether the first `steps` are all gaps.
bool HoldsNothing(const CovariateValues& values, int64_t steps) {
  const auto gap = [](double v) { return std::isnan(v); };
  const auto missing = [](int32_t code) { return code == series::kMissingCategory; };
  if (!values.numbers.empty()) {
    return std::all_of(values.numbers.begin(), values.numbers.begin() + steps, gap);
  }
  return std::all_of(values.codes.begin(), values.codes.begin() + steps, missing);
}

// Codes in file order -> on the grid, missing where there is no row.
std::vector<int32_t> CodesOnGrid(const series::Grid& grid, const std::vector<int32_t>& codes) {
  std::vector<int32_t> out(static_cast<size_t>(grid.length), series::kMissingCategory);
  for (size_t i = 0; i < codes.size(); ++i) out[grid.positions[i]] = codes[i];
  return out;
}

// Cuts what lies beyond `steps`.
void Cut(size_t steps, CovariateValues* values) {
  if (values->numbers.size() > steps) values->numbers.resize(steps);
  if (values->codes.size() > steps) values->codes.resize(steps);
}

}  // namespace

bool SeriesFile::Seen::Add(std::string_view value) {
  if (!all.empty() && value == current) return true;
  current = std::string(value);
  return all.insert(current).second;
}

StatusOr<SeriesFile> SeriesFile::Open(const std::string& path, const SeriesColumns& columns,
                                      const FutureSource& future) {
  if (columns.time == "none" && !(columns.time_format.empty() && columns.frequency.empty())) {
    return absl::InvalidArgumentError("--time none numbers the rows: leave out --time-format and --freq");
  }
  if (!columns.group.empty() && columns.item.empty()) {
    return absl::InvalidArgumentError(
        "--group joins items, and without --item the file is one; name the column of items with --item");
  }
  if (!future.path.empty() && columns.future.empty()) {
    return absl::InvalidArgumentError(
        "--future-data holds the values of --future ahead; name their columns with --future");
  }
  if (path == "-" && future.path == "-") {
    return absl::InvalidArgumentError("--data - and --future-data - both want standard input");
  }
  series::TimeReader time_reader;
  if (!columns.time_format.empty()) {
    PLINTH_ASSIGN_OR_RETURN(time_reader, series::TimeReader::ForPattern(columns.time_format));
  }
  std::optional<series::Frequency> frequency;
  if (!columns.frequency.empty()) {
    auto given = series::ParseFrequency(columns.frequency);
    if (!given.ok()) return Prepend(given.status(), "--freq");
    frequency = *given;
  }
  PLINTH_ASSIGN_OR_RETURN(CsvSource source, CsvSource::Open(path));
  SeriesFile file(std::move(source));
  file.future_wish_ = future;
  file.time_reader_ = std::move(time_reader);
  file.frequency_ = frequency;
  file.frequency_given_ = frequency.has_value();
  PLINTH_RETURN_IF_ERROR(file.FirstPass(columns));
  for (size_t c = 0; c < file.found_.covariates.size(); ++c) {
    file.codes_.push_back(std::make_unique<CategoryCodes>());
  }
  PLINTH_RETURN_IF_ERROR(file.OpenFuture());
  PLINTH_ASSIGN_OR_RETURN(file.reader_, file.OpenReader());
  if (!file.together_) PLINTH_RETURN_IF_ERROR(file.LoadAll());
  return file;
}

StatusOr<ItemReader> SeriesFile::OpenReader() {
  std::vector<CategoryCodes*> codes;
  for (const auto& own : codes_) codes.push_back(own.get());
  return ItemReader::Open(source_, found_, time_reader_, codes);
}

Status SeriesFile::FirstPass(const SeriesColumns& columns) {
  PLINTH_ASSIGN_OR_RETURN(formats::CsvReader reader, source_.Reader());
  ColumnFinder finder(columns, time_reader_, path());
  PLINTH_RETURN_IF_ERROR(finder.Begin(reader));
  const int item = finder.found().item;
  found_.item = item;
  found_.group = finder.found().group;
  Seen items;
  SeenGroups groups;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (!more) break;
    PLINTH_RETURN_IF_ERROR(finder.See(reader));
    if (item >= 0 && !items.Add(reader.row()[static_cast<size_t>(item)])) together_ = false;
    if (found_.group >= 0) PLINTH_RETURN_IF_ERROR(SeeGroup(reader, &groups));
    if (reader.line() % 4096 == 0) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  }
  PLINTH_RETURN_IF_ERROR(finder.End(reader));
  found_ = finder.found();
  note_ = finder.note();
  text_column_ = finder.text_column();
  items_ = item < 0 ? 1 : static_cast<int64_t>(items.all.size());
  if (found_.time >= 0) names_.time = reader.header()[static_cast<size_t>(found_.time)];
  names_.item = columns.item;
  return absl::OkStatus();
}

Status SeriesFile::SeeGroup(const formats::CsvReader& reader, SeenGroups* seen) {
  const std::string_view group = reader.row()[static_cast<size_t>(found_.group)];
  const std::string_view item = reader.row()[static_cast<size_t>(found_.item)];
  if (group.empty()) return reader.Refuse(found_.group, "the name of the item's group");
  const auto [at, fresh] = seen->of.emplace(item, group);
  if (!fresh && at->second != group) {
    return absl::InvalidArgumentError(
        StrCat(path(), ": line ", reader.line(), ": item ", formats::QuotedShort(item), " is in group ",
               formats::QuotedShort(group), " here and in group ", formats::QuotedShort(at->second),
               " before; an item belongs to one group"));
  }
  if (!seen->groups.Add(group)) together_ = false;
  return absl::OkStatus();
}

Status SeriesFile::OpenFuture() {
  if (future_wish_.path.empty()) return absl::OkStatus();
  std::vector<CategoryCodes*> codes;
  for (const auto& own : codes_) codes.push_back(own.get());
  PLINTH_ASSIGN_OR_RETURN(
      future_, FutureRows::Open(future_wish_.path, names_, found_.covariates, time_reader_, codes));
  return absl::OkStatus();
}

Status SeriesFile::LoadAll() {
  PLINTH_ASSIGN_OR_RETURN(all_, reader_->All());
  if (found_.group < 0) return absl::OkStatus();
  std::unordered_map<std::string, size_t> rank;
  for (const ItemRows& rows : all_) rank.emplace(rows.group, rank.size());
  std::stable_sort(all_.begin(), all_.end(),
                   [&](const ItemRows& a, const ItemRows& b) { return rank.at(a.group) < rank.at(b.group); });
  return absl::OkStatus();
}

StatusOr<series::Inference> SeriesFile::Infer(const ItemRows& rows) const {
  const series::TimeStyle style = reader_->style();
  return series::InferFrequency({rows.times, &style, rows.lines});
}

// For an item of one row before any other: looks for the first item that has more.
StatusOr<series::Inference> SeriesFile::InferFromAny(const ItemRows& rows) {
  if (!together_) {
    const auto longer =
        std::find_if(all_.begin(), all_.end(), [](const ItemRows& other) { return other.times.size() > 1; });
    return Infer(longer == all_.end() ? rows : *longer);
  }
  PLINTH_ASSIGN_OR_RETURN(ItemReader scan, OpenReader());
  ItemRows other;
  bool more = true;
  while (more && other.times.size() < 2) {
    PLINTH_ASSIGN_OR_RETURN(more, scan.Next(&other));
  }
  return Infer(more ? other : rows);
}

Status SeriesFile::FindFrequency(const ItemRows& rows, SeriesItem* item) {
  if (frequency_given_ || (rows.times.size() < 2 && frequency_)) return absl::OkStatus();
  PLINTH_ASSIGN_OR_RETURN(const series::Inference inferred,
                          rows.times.size() > 1 ? Infer(rows) : InferFromAny(rows));
  frequency_ = inferred.frequency;
  if (rows.times.size() > 1 && !inferred.note.empty()) {
    item->notes.push_back(
        StrCat(path(), ": ", found_.item < 0 ? "" : StrCat("item ", formats::QuotedShort(rows.item), ", "),
               "column ", formats::QuotedShort(targets()[0]), ": ", inferred.note));
  }
  return absl::OkStatus();
}

bool SeriesFile::FutureInData() const {
  return future_wish_.path.empty() && std::any_of(found_.covariates.begin(), found_.covariates.end(),
                                                  [](const CovariateColumn& c) { return c.ahead; });
}

Status SeriesFile::ToItem(const ItemRows& rows, SeriesItem* item) {
  *item = {};
  item->item = rows.item;
  item->group = rows.group;
  if (found_.time < 0) {
    item->numbered = true;
    item->values = rows.targets;
    return AddCovariates(rows, nullptr, item);
  }
  item->style = reader_->style();
  PLINTH_RETURN_IF_ERROR(FindFrequency(rows, item));
  PLINTH_ASSIGN_OR_RETURN(const series::Grid grid,
                          series::PlaceOnGrid({rows.times, &item->style, rows.lines}, *frequency_));
  item->origin = grid.origin;
  item->frequency = grid.frequency;
  for (const auto& values : rows.targets) item->values.push_back(series::OnGrid(grid, values));
  return AddCovariates(rows, &grid, item);
}

// `grid`: null where rows are numbered.
Status SeriesFile::AddCovariates(const ItemRows& rows, const series::Grid* grid, SeriesItem* item) {
  for (const CovariateValues& values : rows.covariates) {
    CovariateValues& placed = item->covariates.emplace_back(values);
    if (grid == nullptr) continue;
    if (!values.numbers.empty()) placed.numbers = series::OnGrid(*grid, values.numbers);
    if (!values.codes.empty()) placed.codes = CodesOnGrid(*grid, values.codes);
  }
  if (FutureInData()) {
    PLINTH_RETURN_IF_ERROR(SplitOffFuture(grid == nullptr ? std::vector<int64_t>{} : grid->positions, item));
  }
  for (size_t c = 0; c < found_.covariates.size(); ++c) {
    if (!HoldsNothing(item->covariates[c], item->length())) continue;
    item->notes.push_back(StrCat(Where(*item), "column ", formats::QuotedShort(found_.covariates[c].name),
                                 " holds no value in the past and says nothing there"));
  }
  return absl::OkStatus();
}

// Cuts the rows ahead off the targets and keeps those that are asked for with the covariates known there.
// `positions`: where rows stand on the grid; empty where they are numbered.
Status SeriesFile::SplitOffFuture(const std::vector<int64_t>& positions, SeriesItem* item) const {
  const int64_t rows = item->length();
  const size_t past = PastSteps(item->values);
  if (past == 0) {
    return absl::InvalidArgumentError(
        "no row holds a value of a target, so there is no telling where the future begins; give the future "
        "rows with --future-data");
  }
  int64_t missing = static_cast<int64_t>(past);
  const bool fits = StepsFit(*item, missing);
  const int64_t steps = fits ? future_wish_.steps : 0;
  const int64_t end = missing + steps;
  if (positions.empty()) {
    missing = std::min(rows, end);
  } else {
    auto at = std::lower_bound(positions.begin(), positions.end(), missing);
    while (missing < end && at != positions.end() && *at == missing) ++at, ++missing;
  }
  if (missing < end) {
    return absl::InvalidArgumentError(StrCat(
        "the targets end at ", item->TimeText(static_cast<int64_t>(past) - 1), ", and there is no row of ",
        item->TimeText(missing), " with the values of --future; a horizon of ", steps, " needs rows up to ",
        item->TimeText(end - 1), ", here or in --future-data"));
  }
  for (auto& values : item->values) values.resize(past);
  for (size_t c = 0; c < found_.covariates.size(); ++c) {
    const bool ahead = found_.covariates[c].ahead;
    CovariateValues& values = item->covariates[c];
    Cut(ahead ? static_cast<size_t>(end) : past, &values);
    if (ahead && steps > 0 && !values.numbers.empty()) {
      NoteGapsAhead(path(), found_.covariates[c].name, values, steps, item);
    }
  }
  return absl::OkStatus();
}

// Whether the steps ahead end before the year 10000. If not, whoever asked for them refuses.
bool SeriesFile::StepsFit(const SeriesItem& item, int64_t past) const {
  return item.LastIndex() - past + 1 >= future_wish_.steps;
}

std::string SeriesFile::Where(const SeriesItem& item) const {
  return StrCat(path(), ": ", found_.item < 0 ? "" : StrCat("item ", formats::QuotedShort(item.item), ": "));
}

// Where no item column is named, hints at the one that might be.
Status SeriesFile::Named(const Status& status, const SeriesItem& item) const {
  std::string message(status.message());
  const size_t hint = message.find("(--item)");
  if (found_.item < 0 && !text_column_.empty() && hint != message.npos) {
    message.replace(hint, 8, StrCat("(perhaps --item ", formats::QuotedShort(text_column_), ")"));
  }
  return Status(status.code(), Where(item) + message);
}

StatusOr<bool> SeriesFile::Next(SeriesItem* item) {
  ItemRows rows;
  if (together_) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader_->Next(&rows));
    if (!more) return false;
  } else {
    if (next_ == all_.size()) return false;
    rows = std::move(all_[next_++]);
  }
  if (const Status status = ToItem(rows, item); !status.ok()) return Named(status, *item);
  const bool fits =
      item->LastIndex() - item->length() + 1 >= future_wish_.steps;  // else whoever asked refuses
  if (future_ && fits) PLINTH_RETURN_IF_ERROR(future_->Append(path(), future_wish_.steps, item));
  return true;
}

StatusOr<std::vector<series::CategoryOrder>> SeriesFile::SortCategories() {
  std::vector<series::CategoryOrder> orders(found_.covariates.size());
  const auto categorical = [](const CovariateColumn& c) { return c.categorical; };
  if (std::none_of(found_.covariates.begin(), found_.covariates.end(), categorical)) return orders;
  std::vector<std::vector<bool>> known(orders.size());
  const auto add = [&](const ItemRows& rows) {
    const size_t past = FutureInData() ? PastSteps(rows.targets) : rows.lines.size();
    for (size_t c = 0; c < known.size(); ++c) {
      if (!found_.covariates[c].categorical) continue;
      known[c].resize(labels(c).size());
      for (size_t i = 0; i < past; ++i) {
        const int32_t code = rows.covariates[c].codes[i];
        if (code != series::kMissingCategory) known[c][static_cast<size_t>(code)] = true;
      }
    }
  };
  if (together_) {
    PLINTH_ASSIGN_OR_RETURN(ItemReader scan, OpenReader());
    ItemRows rows;
    while (true) {
      PLINTH_ASSIGN_OR_RETURN(const bool more, scan.Next(&rows));
      if (!more) break;
      add(rows);
    }
  } else {
    for (const ItemRows& rows : all_) add(rows);
  }
  for (size_t c = 0; c < orders.size(); ++c) {
    known[c].resize(labels(c).size());
    if (found_.covariates[c].categorical) orders[c] = series::CategoryOrder::Of(labels(c), known[c]);
  }
  return orders;
}

}  // namespace plinth::engine
