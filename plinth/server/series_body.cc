#include "plinth/server/series_body.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "plinth/base/text.h"
#include "plinth/series/categories.h"
#include "plinth/series/time_axis.h"

namespace plinth::server {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostColumns = 1000;

// A time in the words of a request: text, or a number since 1970.
StatusOr<series::Timestamp> ReadTime(const JsonField& field, series::TimeReader* reader) {
  std::string text;
  if (field.is_string()) {
    PLINTH_ASSIGN_OR_RETURN(const std::string_view view, field.Text());
    text = view;
  } else if (field.is_number()) {
    text = field.Json(40);
  } else {
    return field.Refuse("a time, as \"2026-01-31T00:00:00Z\" or seconds since 1970");
  }
  auto time = reader->Read(text);
  if (!time.ok()) return FieldError(field.path(), std::string(time.status().message()));
  return time;
}

// One covariate's values, flat.
struct Column {
  std::string path;
  bool ahead = false;
  std::vector<double> numbers;
  std::vector<int32_t> codes;
  std::unique_ptr<engine::CategoryCodes> categories;
};

class Reader {
 public:
  Reader(const JsonField& series, std::string frequency, int64_t horizon, const SeriesLimits& limits)
      : series_(series), frequency_(std::move(frequency)), horizon_(horizon), limits_(limits) {}

  StatusOr<SeriesBody> Read() {
    PLINTH_RETURN_IF_ERROR(
        series_.CheckKeys({"y", "targets", "sizes", "items", "groups", "start", "times", "past", "future"}));
    PLINTH_RETURN_IF_ERROR(ReadTargets());
    PLINTH_RETURN_IF_ERROR(ReadSizes());
    PLINTH_RETURN_IF_ERROR(ReadNames());
    PLINTH_RETURN_IF_ERROR(ReadColumns("past", false));
    PLINTH_RETURN_IF_ERROR(ReadColumns("future", true));
    PLINTH_RETURN_IF_ERROR(ReadTimes());
    for (size_t i = 0; i < sizes_.size(); ++i) PLINTH_RETURN_IF_ERROR(Fill(i));
    for (Column& column : columns_) body_.codes.push_back(std::move(column.categories));
    return std::move(body_);
  }

 private:
  size_t items() const { return sizes_.size(); }

  Status CountValues(size_t more) {
    values_ += more;
    if (values_ <= static_cast<size_t>(limits_.values)) return absl::OkStatus();
    return FieldError(series_.path(), StrCat("holds more than ", limits_.values,
                                             " values, the most that one request may hold (limits.values)"));
  }

  Status ReadTargets() {
    const auto y = series_.Find("y"), targets = series_.Find("targets");
    if (y.has_value() == targets.has_value()) {
      return FieldError(series_.PathOf("y"), y ? "is given beside targets; give one of them"
                                               : "is missing; or give targets by name");
    }
    const auto add = [&](const std::string& name, const JsonField& field) -> Status {
      body_.targets.push_back(name);
      PLINTH_RETURN_IF_ERROR(
          field.Numbers(static_cast<size_t>(limits_.values), false, &targets_.emplace_back()));
      if (targets_.back().size() != targets_[0].size()) {
        return FieldError(field.path(), StrCat("has ", targets_.back().size(), " values, the first target ",
                                               targets_[0].size()));
      }
      return CountValues(targets_.back().size());
    };
    if (y) return add("y", *y);
    PLINTH_RETURN_IF_ERROR(targets->ExpectObject());
    const std::vector<std::string> names = targets->Keys();
    if (names.empty() || names.size() > kMostColumns) {
      return FieldError(targets->path(),
                        StrCat("names ", names.size(), " targets; 1 to ", kMostColumns, " are taken"));
    }
    for (const std::string& name : names) {
      if (name.empty()) return FieldError(targets->path(), "names a target \"\"; give it a name");
      PLINTH_ASSIGN_OR_RETURN(const JsonField field, targets->Get(name));
      PLINTH_RETURN_IF_ERROR(add(name, field));
    }
    return absl::OkStatus();
  }

  Status ReadSizes() {
    rows_ = targets_[0].size();
    if (const auto sizes = series_.Find("sizes")) {
      PLINTH_ASSIGN_OR_RETURN(const auto elements, sizes->Elements(static_cast<size_t>(limits_.series)));
      int64_t sum = 0;
      for (const JsonField& element : elements) {
        PLINTH_ASSIGN_OR_RETURN(const int64_t size, element.Int(1, limits_.values));
        sizes_.push_back(static_cast<size_t>(size));
        sum += size;
      }
      if (sizes_.empty() || sum != static_cast<int64_t>(rows_)) {
        return FieldError(sizes->path(),
                          StrCat("adds up to ", sum, ", but there are ", rows_, " values of each target"));
      }
    } else {
      if (rows_ == 0) return FieldError(series_.path(), "holds no value");
      sizes_.push_back(rows_);
    }
    const size_t count = sizes_.size() * targets_.size();
    if (count > static_cast<size_t>(limits_.series)) {
      return FieldError(series_.path(), StrCat("holds ", count, " series, ", limits_.series,
                                               " are the most in one request (limits.series)"));
    }
    size_t begin = 0;
    for (const size_t size : sizes_) {
      begins_.push_back(begin);
      begin += size;
    }
    body_.items.resize(items());
    return absl::OkStatus();
  }

  // One text per item.
  Status ReadPerItem(std::string_view key, std::string engine::SeriesItem::*member) {
    const auto field = series_.Find(key);
    if (!field) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(const auto elements, field->Elements(static_cast<size_t>(limits_.series)));
    if (elements.size() != items()) {
      return FieldError(field->path(), StrCat("has ", elements.size(), " names for ", items(), " items"));
    }
    for (size_t i = 0; i < items(); ++i) {
      if (elements[i].is_number()) {
        body_.items[i].*member = elements[i].Json(40);
        continue;
      }
      PLINTH_ASSIGN_OR_RETURN(const std::string_view text, elements[i].Text());
      body_.items[i].*member = std::string(text);
    }
    return absl::OkStatus();
  }

  Status ReadNames() {
    PLINTH_RETURN_IF_ERROR(ReadPerItem("items", &engine::SeriesItem::item));
    body_.named_groups = series_.Find("groups").has_value();
    return ReadPerItem("groups", &engine::SeriesItem::group);
  }

  Status ReadColumns(std::string_view key, bool ahead) {
    const auto field = series_.Find(key);
    if (!field) return absl::OkStatus();
    PLINTH_RETURN_IF_ERROR(field->ExpectObject());
    const size_t wanted = rows_ + (ahead ? items() * static_cast<size_t>(horizon_) : 0);
    for (const std::string& name : field->Keys()) {
      PLINTH_ASSIGN_OR_RETURN(const JsonField values, field->Get(name));
      if (columns_.size() == kMostColumns) {
        return FieldError(field->path(), StrCat("and past name more than ", kMostColumns, " covariates"));
      }
      const bool known = std::any_of(body_.covariates.begin(), body_.covariates.end(),
                                     [&](const auto& c) { return c.name == name; });
      const bool target = std::find(body_.targets.begin(), body_.targets.end(), name) != body_.targets.end();
      if (known || target) return FieldError(values.path(), target ? "is a target, too" : "is in past, too");
      Column column{values.path(), ahead, {}, {}, nullptr};
      PLINTH_RETURN_IF_ERROR(ReadValues(values, &column));
      const size_t count = std::max(column.numbers.size(), column.codes.size());
      if (count != wanted) {
        return FieldError(values.path(), StrCat("has ", count, " values; ", wanted,
                                                ahead ? " are expected: for each item its rows and "
                                                        "the horizon's"
                                                      : " are expected, one per row"));
      }
      PLINTH_RETURN_IF_ERROR(CountValues(count));
      body_.covariates.push_back({name, -1, ahead, column.categories != nullptr, false});
      columns_.push_back(std::move(column));
    }
    return absl::OkStatus();
  }

  // Numbers; or, where the first value that is none of them is text or a flag, categories.
  Status ReadValues(const JsonField& field, Column* column) const {
    const Status numbers = field.Numbers(static_cast<size_t>(limits_.values), false, &column->numbers);
    if (numbers.ok() || !field.is_array()) return numbers;
    column->numbers.clear();
    column->categories = std::make_unique<engine::CategoryCodes>();
    PLINTH_ASSIGN_OR_RETURN(const auto elements, field.Elements(static_cast<size_t>(limits_.values)));
    for (const JsonField& element : elements) {
      if (element.is_null()) {
        column->codes.push_back(series::kMissingCategory);
        continue;
      }
      std::string text = element.Json(4096);
      if (element.is_string()) {
        PLINTH_ASSIGN_OR_RETURN(const std::string_view view, element.Text());
        text = view;
      } else if (element.is_array() || element.is_object()) {
        return element.Refuse("a number, text, true, false or null");
      }
      const auto code = column->categories->Of(text, false, false);
      if (!code.ok()) return FieldError(field.path(), std::string(code.status().message()));
      column->codes.push_back(*code);
    }
    return absl::OkStatus();
  }

  Status ReadTimes() {
    const auto start = series_.Find("start"), times = series_.Find("times");
    if (start && times) return FieldError(start->path(), "is given beside times; give one of them");
    if (!frequency_.empty()) {
      auto parsed = series::ParseFrequency(frequency_);
      if (!parsed.ok()) return FieldError("freq", std::string(parsed.status().message()));
      given_ = *parsed;
    }
    if (start) return ReadStarts(*start);
    if (times) {
      PLINTH_ASSIGN_OR_RETURN(const auto elements, times->Elements(static_cast<size_t>(limits_.values)));
      if (elements.size() != rows_) {
        return FieldError(times->path(), StrCat("has ", elements.size(), " times for ", rows_, " rows"));
      }
      series::TimeReader reader;
      for (const JsonField& element : elements) {
        PLINTH_ASSIGN_OR_RETURN(times_.emplace_back(), ReadTime(element, &reader));
      }
      style_ = reader.style();
    }
    return absl::OkStatus();
  }

  Status ReadStarts(const JsonField& start) {
    if (!given_)
      return FieldError("freq", "is missing: a start alone does not say how far apart the rows lie");
    series::TimeReader reader;
    if (start.is_array()) {
      PLINTH_ASSIGN_OR_RETURN(const auto elements, start.Elements(static_cast<size_t>(limits_.series)));
      if (elements.size() != items()) {
        return FieldError(start.path(), StrCat("has ", elements.size(), " times for ", items(), " items"));
      }
      for (const JsonField& element : elements) {
        PLINTH_ASSIGN_OR_RETURN(starts_.emplace_back(), ReadTime(element, &reader));
      }
    } else {
      PLINTH_ASSIGN_OR_RETURN(const series::Timestamp time, ReadTime(start, &reader));
      starts_.assign(items(), time);
    }
    style_ = reader.style();
    return absl::OkStatus();
  }

  // Where the rows of an item lie on its grid; sets the item's times.
  StatusOr<std::optional<series::Grid>> Place(size_t i) {
    engine::SeriesItem& item = body_.items[i];
    item.style = style_;
    if (!starts_.empty()) {
      const std::span<const series::Timestamp> one(&starts_[i], 1);
      auto grid = series::PlaceOnGrid({one, &style_, {}}, *given_);
      if (!grid.ok()) return FieldError(series_.PathOf("start"), std::string(grid.status().message()));
      item.origin = grid->origin;
      item.frequency = grid->frequency;
      return std::optional<series::Grid>();
    }
    if (times_.empty()) {
      item.numbered = true;
      return std::optional<series::Grid>();
    }
    const series::TimeColumn column{std::span(times_).subspan(begins_[i], sizes_[i]), &style_, {}};
    const auto named = [&](const Status& status) {
      return FieldError(series_.PathOf("times"), StrCat("item ", i, ": ", std::string(status.message())));
    };
    series::Frequency frequency;
    if (given_) {
      frequency = *given_;
    } else if (sizes_[i] == 1) {
      return FieldError("freq", StrCat("is missing: item ", i, " has one row, which shows no step"));
    } else {
      const auto inferred = series::InferFrequency(column);
      if (!inferred.ok()) return named(inferred.status());
      frequency = inferred->frequency;
      if (!inferred->note.empty()) item.notes.push_back(inferred->note);
    }
    auto grid = series::PlaceOnGrid(column, frequency);
    if (!grid.ok()) return named(grid.status());
    if (grid->length > static_cast<int64_t>(sizes_[i])) {
      PLINTH_RETURN_IF_ERROR(
          CountValues(static_cast<size_t>(grid->length) * (targets_.size() + columns_.size())));
    }
    item.origin = grid->origin;
    item.frequency = grid->frequency;
    return std::optional<series::Grid>(*std::move(grid));
  }

  template <typename T>
  static std::vector<T> Spread(std::span<const T> rows, const std::optional<series::Grid>& grid, T gap) {
    if (!grid) return {rows.begin(), rows.end()};
    std::vector<T> out(static_cast<size_t>(grid->length), gap);
    for (size_t r = 0; r < grid->positions.size(); ++r)
      out[static_cast<size_t>(grid->positions[r])] = rows[r];
    // What lies ahead follows without gaps.
    out.insert(out.end(), rows.begin() + static_cast<std::ptrdiff_t>(grid->positions.size()), rows.end());
    return out;
  }

  Status Fill(size_t i) {
    engine::SeriesItem& item = body_.items[i];
    PLINTH_ASSIGN_OR_RETURN(const std::optional<series::Grid> grid, Place(i));
    for (const std::vector<double>& values : targets_) {
      item.values.push_back(
          Spread(std::span<const double>(values).subspan(begins_[i], sizes_[i]), grid, kGap));
    }
    for (const Column& column : columns_) {
      const size_t ahead = column.ahead ? static_cast<size_t>(horizon_) : 0;
      const size_t begin = begins_[i] + i * ahead, count = sizes_[i] + ahead;
      engine::CovariateValues values;
      if (column.categories == nullptr) {
        values.numbers = Spread(std::span<const double>(column.numbers).subspan(begin, count), grid, kGap);
      } else {
        values.codes = Spread(std::span<const int32_t>(column.codes).subspan(begin, count), grid,
                              series::kMissingCategory);
      }
      item.covariates.push_back(std::move(values));
    }
    const int64_t fit = item.LastIndex() - item.length() + 1;
    if (fit < horizon_) {
      return FieldError("horizon", StrCat("of ", horizon_, " steps ends past 9999-12-31; ", fit, " fit"));
    }
    return absl::OkStatus();
  }

  const JsonField& series_;
  const std::string frequency_;
  const int64_t horizon_;
  const SeriesLimits& limits_;
  SeriesBody body_;
  size_t values_ = 0, rows_ = 0;
  std::vector<std::vector<double>> targets_;
  std::vector<size_t> sizes_, begins_;
  std::vector<Column> columns_;
  std::optional<series::Frequency> given_;
  std::vector<series::Timestamp> times_, starts_;
  series::TimeStyle style_;
};

}  // namespace

engine::GroupColumns SeriesBody::Columns() const {
  engine::GroupColumns columns{"series", covariates, {}, targets.size()};
  static const std::vector<std::string> kNone;
  for (const auto& code : codes) columns.labels.push_back(code == nullptr ? &kNone : &code->labels());
  return columns;
}

StatusOr<SeriesBody> ReadSeries(const JsonField& series, const std::string& frequency, int64_t horizon,
                                const SeriesLimits& limits) {
  return Reader(series, frequency, horizon, limits).Read();
}

}  // namespace plinth::server
