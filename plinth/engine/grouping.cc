#include "plinth/engine/grouping.h"

#include <algorithm>
#include <utility>

#include "plinth/formats/json.h"

namespace plinth::engine {
namespace {

int64_t ValuesOf(const SeriesItem& item) {
  return item.length() * static_cast<int64_t>(item.values.size() + item.covariates.size());
}

// Those of `all` from `begin` on, at most `count`.
template <typename T>
std::span<const T> Part(const std::vector<T>& all, int64_t begin, int64_t count) {
  const int64_t size = static_cast<int64_t>(all.size());
  const int64_t first = std::min(begin, size);
  return std::span(all).subspan(static_cast<size_t>(first),
                                static_cast<size_t>(std::min(count, size - first)));
}

std::string EndText(const SeriesItem& item) {
  return StrCat("item ", formats::QuotedShort(item.item), " ends at ", item.TimeText(item.length() - 1),
                " in steps of ", item.FrequencyName());
}

}  // namespace

bool UnitReader::BelongsTo(const std::vector<SeriesItem>& unit, const SeriesItem& item) const {
  return items_ == Together::Items::kAll ||
         (items_ == Together::Items::kGroup && item.group == unit[0].group);
}

Status UnitReader::CheckSize(const std::vector<SeriesItem>& unit, int64_t values) const {
  if (unit.size() == 1 || values <= most_values_) return absl::OkStatus();
  const size_t rows = unit.size() * (unit[0].values.size() + unit[0].covariates.size());
  const std::string which = items_ == Together::Items::kAll
                                ? "--cross-learning"
                                : StrCat("group ", formats::QuotedShort(unit[0].group));
  return absl::ResourceExhaustedError(
      StrCat(file_->path(), ": ", which, " puts ", rows, " rows and more, with over ", most_values_,
             " values, into one group; make smaller groups with --group, or cut the items"));
}

StatusOr<bool> UnitReader::Next(std::vector<SeriesItem>* unit) {
  unit->clear();
  if (ahead_) unit->push_back(*std::exchange(ahead_, std::nullopt));
  int64_t values = unit->empty() ? 0 : ValuesOf(unit->front());
  while (!done_) {
    SeriesItem item;
    PLINTH_ASSIGN_OR_RETURN(const bool more, file_->Next(&item));
    done_ = !more;
    if (!more) break;
    if (!unit->empty() && !BelongsTo(*unit, item)) {
      ahead_ = std::move(item);
      break;
    }
    values += ValuesOf(item);
    unit->push_back(std::move(item));
    PLINTH_RETURN_IF_ERROR(CheckSize(*unit, values));
    if (items_ == Together::Items::kAlone) break;
  }
  return !unit->empty();
}

std::string EndsApart(std::span<const SeriesItem> unit) {
  if (unit.empty() || unit[0].numbered) return "";
  for (const SeriesItem& item : unit) {
    const bool same = item.TimeMs(item.length() - 1) == unit[0].TimeMs(unit[0].length() - 1) &&
                      item.FrequencyName() == unit[0].FrequencyName();
    if (!same) return StrCat(EndText(unit[0]), ", ", EndText(item));
  }
  return "";
}

StatusOr<GroupMaker> GroupMaker::Make(SeriesFile& file, const Together& together) {
  GroupColumns columns{file.path(), file.covariates(), {}, file.targets().size()};
  for (size_t c = 0; c < columns.covariates.size(); ++c) columns.labels.push_back(&file.labels(c));
  GroupMaker maker(std::move(columns), together);
  if (maker.by_place_ && together.file_categories) {
    PLINTH_ASSIGN_OR_RETURN(maker.orders_, file.SortCategories());
  }
  return maker;
}

void GroupMaker::Clear() {
  groups_.clear();
  encoded_.clear();
  notes_.clear();
}

void GroupMaker::Add(std::span<const Window> windows, int64_t horizon) {
  const auto target_row = [](const Window& window, size_t target) {
    return models::Row{Part(window.item->values[target], 0, window.origin), {}};
  };
  if (!together_.joint()) {
    for (const Window& window : windows) {
      for (size_t t = 0; t < window.item->values.size(); ++t) {
        Group& group = groups_.emplace_back();
        group.rows.push_back(target_row(window, t));
        AddCovariates(window, t, horizon, &group);
      }
    }
    return;
  }
  if (windows.empty()) return;
  if (by_place_ && !together_.file_categories) SortCategories(windows);
  Group& group = groups_.emplace_back();
  for (const Window& window : windows) {
    for (size_t t = 0; t < window.item->values.size(); ++t) group.rows.push_back(target_row(window, t));
  }
  group.targets = static_cast<int64_t>(group.rows.size());
  for (const Window& window : windows) AddCovariates(window, 0, horizon, &group);
}

// Sorts the categories that the past of any of the windows holds.
void GroupMaker::SortCategories(std::span<const Window> windows) {
  orders_.assign(columns_.covariates.size(), {});
  for (size_t c = 0; c < orders_.size(); ++c) {
    if (!columns_.covariates[c].categorical) continue;
    const std::vector<std::string>& labels = *columns_.labels[c];
    std::vector<bool> known(labels.size());
    for (const Window& window : windows) {
      for (const int32_t code : Part(window.item->covariates[c].codes, 0, window.origin)) {
        if (code != series::kMissingCategory) known[static_cast<size_t>(code)] = true;
      }
    }
    orders_[c] = series::CategoryOrder::Of(labels, known);
  }
}

// `target`: the one whose means stand for categories.
void GroupMaker::AddCovariates(const Window& window, size_t target, int64_t horizon, Group* group) {
  for (size_t c = 0; c < window.item->covariates.size(); ++c) {
    if (columns_.covariates[c].categorical) {
      group->rows.push_back(Encode(window, target, c, horizon));
      continue;
    }
    const std::vector<double>& numbers = window.item->covariates[c].numbers;
    const int64_t ahead = columns_.covariates[c].ahead ? horizon : 0;
    group->rows.push_back({Part(numbers, 0, window.origin), Part(numbers, window.origin, ahead)});
  }
}

models::Row GroupMaker::Encode(const Window& window, size_t target, size_t covariate, int64_t horizon) {
  const std::vector<int32_t>& codes = window.item->covariates[covariate].codes;
  const auto past = Part(codes, 0, window.origin);
  const auto future = Part(codes, window.origin, columns_.covariates[covariate].ahead ? horizon : 0);
  series::EncodedCategories& encoded = encoded_.emplace_back();
  if (by_place_) {
    encoded.past = series::OrdinalEncode(past, orders_[covariate]);
    encoded.future = series::OrdinalEncode(future, orders_[covariate]);
  } else {
    const auto values = Part(window.item->values[target], 0, window.origin);
    encoded = series::TargetEncode(past, values, future);
  }
  NoteUnknown(window, covariate, past, future);
  return {encoded.past, encoded.future};
}

void GroupMaker::NoteUnknown(const Window& window, size_t covariate, std::span<const int32_t> past,
                             std::span<const int32_t> future) {
  if (future.empty()) return;
  const auto& labels = *columns_.labels[covariate];
  std::vector<bool> known(labels.size());
  // A gap is a category too; among places it has one of its own, whether the past holds it or not.
  const bool gap_known =
      by_place_ || std::find(past.begin(), past.end(), series::kMissingCategory) != past.end();
  for (const int32_t code : past) {
    if (code != series::kMissingCategory && !by_place_) known[static_cast<size_t>(code)] = true;
  }
  for (size_t code = 0; by_place_ && code < orders_[covariate].places.size(); ++code) {
    known[code] = orders_[covariate].places[code] >= 0;
  }
  for (const int32_t code : future) {
    const bool gap = code == series::kMissingCategory;
    if (gap ? gap_known : known[static_cast<size_t>(code)]) continue;
    const std::string what =
        gap ? "a gap" : StrCat("the category ", formats::QuotedShort(labels[static_cast<size_t>(code)]));
    const bool named = !window.item->item.empty();
    const std::string where = StrCat(
        columns_.path, ": ", named ? StrCat("item ", formats::QuotedShort(window.item->item), ": ") : "",
        "column ", formats::QuotedShort(columns_.covariates[covariate].name), ": ", what,
        " ahead occurs in no row of the past");
    if (!noted_.insert(where).second) continue;
    notes_.push_back(
        StrCat(where, by_place_ ? " and counts as unknown" : " and counts as the target's mean"));
  }
}

}  // namespace plinth::engine
