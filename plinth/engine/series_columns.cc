#include "plinth/engine/series_columns.h"

#include <algorithm>
#include <utility>

#include "plinth/formats/json.h"

namespace plinth::engine {
namespace {

constexpr size_t kSampleRows = 200;

// Names the columns that are no targets because they hold nothing; of many, the first few.
std::string LeftOut(const std::vector<std::string>& columns) {
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(columns.size(), kShown); ++i) {
    names.push_back(formats::QuotedShort(columns[i]));
  }
  const std::string more = columns.size() > kShown ? StrCat(" and ", columns.size() - kShown, " more") : "";
  const bool one = columns.size() == 1;
  return StrCat(one ? "column " : "columns ", Join(names, ", "), more, one ? " holds" : " hold",
                " no value and ", one ? "is" : "are", " left out; name ", one ? "it" : "them",
                " with --target to keep ", one ? "it" : "them");
}

// A name may hold commas itself: what names a column as it stands is one name.
std::vector<std::string> SplitNames(const formats::CsvReader& reader, const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    size_t begin = 0;
    while (begin <= text.size()) {
      const bool whole = reader.Column(text).ok();
      const size_t comma = whole ? text.npos : text.find(',', begin);
      const size_t end = std::min(comma, text.size());
      names.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return names;
}

Status NamedTwice(const char* option, const std::string& name) {
  return absl::InvalidArgumentError(
      StrCat("--", option, " names column ", formats::QuotedShort(name), " twice"));
}

}  // namespace

ColumnHolds HoldsOf(const std::vector<std::string_view>& cells, bool comma) {
  int64_t numbers = 0, others = 0;
  for (const std::string_view cell : cells) {
    double value;
    const formats::CellKind kind = formats::ParseNumber(cell, comma, &value);
    numbers += kind == formats::CellKind::kNumber;
    others += kind != formats::CellKind::kNumber && kind != formats::CellKind::kGap;
  }
  if (numbers + others == 0) return ColumnHolds::kGaps;
  return numbers > others ? ColumnHolds::kNumbers : ColumnHolds::kText;
}

std::vector<std::string_view> ColumnFinder::Cells(size_t column) const {
  std::vector<std::string_view> cells;
  for (const auto& row : rows_) cells.push_back(row[column]);
  return cells;
}

bool ColumnFinder::Takes(const std::vector<std::string>& names, const std::string& name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The option that names the column, or empty.
std::string ColumnFinder::OptionThatTakes(const std::string& name) const {
  if (name == wanted_.item) return "item";
  if (name == wanted_.group) return "group";
  if (Takes(wanted_.targets, name)) return "target";
  if (Takes(wanted_.past, name)) return "past";
  return Takes(wanted_.future, name) ? "future" : "";
}

// How a message shows what a file holds: its columns, and its first row as an example.
std::string ColumnFinder::Contents(const formats::CsvReader& reader) const {
  return StrCat("columns: ", formats::QuotedShort(Join(reader.header(), ", ")),
                "; first row: ", formats::QuotedShort(Join(rows_[0], ", ")));
}

Status ColumnFinder::Begin(const formats::CsvReader& reader) {
  for (auto* names : {&wanted_.targets, &wanted_.past, &wanted_.future, &wanted_.categorical}) {
    *names = SplitNames(reader, *names);
  }
  if (!wanted_.item.empty()) {
    PLINTH_ASSIGN_OR_RETURN(found_.item, reader.Column(wanted_.item));
  }
  if (!wanted_.group.empty()) {
    PLINTH_ASSIGN_OR_RETURN(found_.group, reader.Column(wanted_.group));
  }
  return absl::OkStatus();
}

Status ColumnFinder::See(const formats::CsvReader& reader) {
  if (rows_.size() < kSampleRows) {
    rows_.emplace_back(reader.row().begin(), reader.row().end());
    lines_.push_back(reader.line());
    if (rows_.size() < kSampleRows) return absl::OkStatus();
    PLINTH_RETURN_IF_ERROR(FindColumns(reader));
  } else {
    WatchUndecided(reader);
  }
  return found_.targets.empty() && undecided_.empty() ? ChooseTargets(reader) : absl::OkStatus();
}

Status ColumnFinder::End(const formats::CsvReader& reader) {
  if (!decided_) PLINTH_RETURN_IF_ERROR(FindColumns(reader));
  return found_.targets.empty() ? ChooseTargets(reader) : absl::OkStatus();
}

Status ColumnFinder::FindTimeColumn(const formats::CsvReader& reader) {
  if (wanted_.time == "none") return absl::OkStatus();
  if (!wanted_.time.empty()) {
    PLINTH_ASSIGN_OR_RETURN(found_.time, reader.Column(wanted_.time));
    return absl::OkStatus();
  }
  std::vector<std::string> found;
  std::string spoken_for;
  std::vector<std::string_view> items;
  if (found_.item >= 0) items = Cells(static_cast<size_t>(found_.item));
  for (size_t c = 0; c < reader.header().size(); ++c) {
    const std::string& name = reader.header()[c];
    const auto cells = Cells(c);
    bool time = false;
    if (wanted_.time_format.empty()) {
      time = series::LooksLikeTime(cells, items);
    } else {
      series::TimeReader probe = time_reader_;
      time = !cells.empty() && probe.Read(cells[0]).ok();
    }
    if (!time) continue;
    if (!OptionThatTakes(name).empty()) {
      spoken_for = name;
      continue;
    }
    found.push_back(name);
    found_.time = static_cast<int>(c);
  }
  if (found.size() == 1) return absl::OkStatus();
  if (found.empty() && !spoken_for.empty()) {
    return absl::InvalidArgumentError(StrCat(
        path_, ": column ", formats::QuotedShort(spoken_for), " is the only one that reads as time, and --",
        OptionThatTakes(spoken_for), " takes it; name other columns, or number the rows with --time none"));
  }
  if (found.empty()) return NoTimeColumn(reader);
  return absl::InvalidArgumentError(
      StrCat(path_, ": columns ", Join(found, ", "), " all read as time; choose one with --time"));
}

// Says what keeps the nearest column from being one of time, or shows what there is.
Status ColumnFinder::NoTimeColumn(const formats::CsvReader& reader) const {
  const bool pattern = !wanted_.time_format.empty();
  for (size_t c = 0; c < reader.header().size(); ++c) {
    const auto cells = Cells(c);
    if (HoldsOf(cells, reader.delimiter() != ',') != ColumnHolds::kText) continue;
    series::TimeReader time = time_reader_;
    int64_t good = 0, bad = 0;
    Status first_bad;
    for (size_t r = 0; r < cells.size(); ++r) {
      const auto read = time.Read(cells[r]);
      if (read.ok()) ++good;
      if (read.ok() || bad++ > 0) continue;
      first_bad = Prepend(read.status(), StrCat(path_, ": line ", lines_[r], ": column ",
                                                formats::QuotedShort(reader.header()[c])));
    }
    if (pattern || (good > 0 && good >= bad)) return first_bad;
  }
  return absl::InvalidArgumentError(StrCat(path_, ": no column reads as time (", Contents(reader),
                                           "); name one with --time, give its pattern with --time-format, or "
                                           "number the rows with --time none"));
}

Status ColumnFinder::FindColumns(const formats::CsvReader& reader) {
  decided_ = true;
  PLINTH_RETURN_IF_ERROR(FindTimeColumn(reader));
  PLINTH_RETURN_IF_ERROR(FindCovariates(reader));
  holds_.assign(reader.header().size(), ColumnHolds::kText);
  for (size_t c = 0; c < reader.header().size(); ++c) {
    const int column = static_cast<int>(c);
    if (column == found_.time || column == found_.item || column == found_.group) continue;
    const ColumnHolds holds = HoldsOf(Cells(c), reader.delimiter() != ',');
    const auto covariate = std::find_if(found_.covariates.begin(), found_.covariates.end(),
                                        [&](const CovariateColumn& v) { return v.column == column; });
    const bool free = covariate == found_.covariates.end();
    if (free) holds_[c] = holds;
    if (!free) covariate->categorical = covariate->declared || holds == ColumnHolds::kText;
    if (free && holds == ColumnHolds::kText && text_column_.empty()) text_column_ = reader.header()[c];
    const bool open = free ? wanted_.targets.empty() : !covariate->declared;
    if (holds == ColumnHolds::kGaps && open) undecided_.push_back(c);
  }
  return wanted_.targets.empty() ? absl::OkStatus() : FindTargets(reader);
}

// What a column is used for already, or empty.
std::string ColumnFinder::UseOf(int column) const {
  if (column == found_.time) return "the time column";
  if (column == found_.item) return "the item column";
  if (column == found_.group) return "the group column";
  for (const CovariateColumn& c : found_.covariates) {
    if (c.column == column) return c.ahead ? "a covariate of --future" : "a covariate of --past";
  }
  return "";
}

Status ColumnFinder::FindCovariates(const formats::CsvReader& reader) {
  PLINTH_RETURN_IF_ERROR(AddCovariates(reader, wanted_.past, false));
  PLINTH_RETURN_IF_ERROR(AddCovariates(reader, wanted_.future, true));
  return DeclareCategories(reader);
}

Status ColumnFinder::AddCovariates(const formats::CsvReader& reader, const std::vector<std::string>& names,
                                   bool ahead) {
  const char* option = ahead ? "future" : "past";
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (std::find(names.begin(), names.begin() + i, name) != names.begin() + i) {
      return NamedTwice(option, name);
    }
    PLINTH_ASSIGN_OR_RETURN(const int column, reader.Column(name));
    if (ahead && Takes(wanted_.past, name)) {
      return absl::InvalidArgumentError(
          StrCat("column ", formats::QuotedShort(name),
                 " stands in --past and in --future; name it in --future alone if it is known ahead, else in "
                 "--past alone"));
    }
    const std::string use = UseOf(column);
    if (!use.empty()) {
      return absl::InvalidArgumentError(StrCat(path_, ": column ", formats::QuotedShort(name), " is ", use,
                                               " and cannot be a covariate too"));
    }
    found_.covariates.push_back({name, column, ahead});
  }
  return absl::OkStatus();
}

Status ColumnFinder::DeclareCategories(const formats::CsvReader& reader) {
  for (const std::string& name : wanted_.categorical) {
    PLINTH_RETURN_IF_ERROR(reader.Column(name).status());
    const auto covariate = std::find_if(found_.covariates.begin(), found_.covariates.end(),
                                        [&](const CovariateColumn& c) { return c.name == name; });
    if (covariate == found_.covariates.end()) {
      return absl::InvalidArgumentError(
          StrCat("--categorical names column ", formats::QuotedShort(name),
                 ", which is no covariate; name it with --past or --future too"));
    }
    if (covariate->declared) return NamedTwice("categorical", name);
    covariate->declared = covariate->categorical = true;
  }
  return absl::OkStatus();
}

// Decides columns that held only gaps so far by the reader's row: what is no plain text is a number, or is
// refused as one when it is read.
void ColumnFinder::WatchUndecided(const formats::CsvReader& reader) {
  std::erase_if(undecided_, [&](size_t column) {
    const std::string_view cell = reader.row()[column];
    double value;
    const formats::CellKind kind = cell.empty()
                                       ? formats::CellKind::kGap
                                       : formats::ParseNumber(cell, reader.delimiter() != ',', &value);
    if (kind == formats::CellKind::kGap) return false;
    const bool text = kind == formats::CellKind::kText;
    for (CovariateColumn& covariate : found_.covariates) {
      if (covariate.column != static_cast<int>(column)) continue;
      covariate.categorical = text;
      return true;
    }
    if (text && text_column_.empty()) text_column_ = reader.header()[column];
    holds_[column] = text ? ColumnHolds::kText : ColumnHolds::kNumbers;
    return true;
  });
}

// Where no target is named: all columns of numbers; those of gaps alone only where there is no other.
Status ColumnFinder::ChooseTargets(const formats::CsvReader& reader) {
  std::vector<std::string> gaps;
  for (size_t c = 0; c < reader.header().size(); ++c) {
    if (holds_[c] == ColumnHolds::kNumbers) wanted_.targets.push_back(reader.header()[c]);
    if (holds_[c] == ColumnHolds::kGaps) gaps.push_back(reader.header()[c]);
  }
  if (wanted_.targets.empty()) {
    wanted_.targets = std::move(gaps);
  } else if (!gaps.empty()) {
    note_ = LeftOut(gaps);
  }
  if (wanted_.targets.empty()) {
    const std::string beside =
        found_.covariates.empty() ? "" : ", covariates aside: name a target with --target";
    return absl::InvalidArgumentError(StrCat(path_, ": no column holds numbers", beside, " (",
                                             Contents(reader),
                                             "); numbers are written as 1234.5, or as 1234,5 between "
                                             "semicolons or tabs"));
  }
  return FindTargets(reader);
}

Status ColumnFinder::FindTargets(const formats::CsvReader& reader) {
  for (const std::string& target : wanted_.targets) {
    PLINTH_ASSIGN_OR_RETURN(const int column, reader.Column(target));
    const std::string use = UseOf(column);
    if (!use.empty()) {
      return absl::InvalidArgumentError(
          StrCat(path_, ": column \"", target, "\" is ", use, " and cannot be a target too"));
    }
    if (std::find(found_.targets.begin(), found_.targets.end(), column) != found_.targets.end()) {
      return NamedTwice("target", target);
    }
    found_.targets.push_back(column);
  }
  found_.target_names = wanted_.targets;
  return absl::OkStatus();
}

}  // namespace plinth::engine
