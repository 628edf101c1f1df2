// Puts the items of a series file into the groups that a model forecasts together.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "plinth/engine/series_file.h"
#include "plinth/engine/session.h"
#include "plinth/series/categories.h"

namespace plinth::engine {

// Which series see each other, beside a target and its covariates.
struct Together {
  enum class Items : uint8_t {
    kAlone,
    kGroup,  // items of one value in the group column
    kAll,    // all items of the file
  };
  bool targets = false;  // all targets of an item
  Items items = Items::kAlone;
  // Counts the categories of all items of the file where several targets are together, as the original does;
  // else those of the group, so that a group's forecast does not depend on what else is in the file.
  bool file_categories = false;

  // Whether all targets of what is read at once form one group.
  bool joint() const { return targets || items != Items::kAlone; }
};

// Reads the items that belong together: one, those of a group, or all.
class UnitReader {
 public:
  static constexpr int64_t kMostValues = int64_t{1} << 27;  // 1 GiB
  UnitReader(SeriesFile& file, const Together& together, int64_t most_values = kMostValues)
      : file_(&file), items_(together.items), most_values_(most_values) {}
  // False at the end of the file. Errors: those of the file; ResourceExhausted for several items that have
  // more values than a unit may hold (says in how many rows).
  StatusOr<bool> Next(std::vector<SeriesItem>* unit);

 private:
  bool BelongsTo(const std::vector<SeriesItem>& unit, const SeriesItem& item) const;
  Status CheckSize(const std::vector<SeriesItem>& unit, int64_t values) const;

  SeriesFile* file_;
  Together::Items items_;
  int64_t most_values_;
  bool done_ = false;
  std::optional<SeriesItem> ahead_;  // the first item of the next unit
};

// One sentence on two items of a unit whose last steps do not mean the same time, or empty.
std::string EndsApart(std::span<const SeriesItem> unit);

// An item up to a step: what lies before `origin` is the past.
struct Window {
  const SeriesItem* item = nullptr;
  int64_t origin = 0;
};

// What the covariates of all items are.
struct GroupColumns {
  std::string path;  // begins notes
  std::vector<CovariateColumn> covariates;
  std::vector<const std::vector<std::string>*> labels;  // of each categorical covariate, by code
  size_t targets = 1;
};

// Makes groups whose rows point into the items and into covariates that it encodes. Categories become numbers
// as Chronos-2 has them: a target by itself gives the means of target encoding, over the item's whole past;
// several targets together get the places among the sorted categories of the past.
class GroupMaker {
 public:
  // For series that come from elsewhere. What `columns` points to must outlive it.
  GroupMaker(GroupColumns columns, const Together& together)
      : columns_(std::move(columns)),
        together_(together),
        by_place_(together.joint() && columns_.targets > 1) {}
  // `file` must outlive it and nothing may have been read from it yet. Errors: those of the file.
  static StatusOr<GroupMaker> Make(SeriesFile& file, const Together& together);

  // Adds the windows of a unit. Together: one group, the targets of all windows first. Else each target of
  // each window with all covariates of its item. Covariates known ahead have up to `horizon` steps of future,
  // as far as the item holds them. The items must outlive the groups.
  void Add(std::span<const Window> windows, int64_t horizon);
  // Forgets groups and notes.
  void Clear();

  // Targets come in the order windows, then targets.
  std::span<const Group> groups() const { return groups_; }
  // Sentences on categories ahead that no past row holds, each category of a column and item only once.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void SortCategories(std::span<const Window> windows);
  void AddCovariates(const Window& window, size_t target, int64_t horizon, Group* group);
  models::Row Encode(const Window& window, size_t target, size_t covariate, int64_t horizon);
  void NoteUnknown(const Window& window, size_t covariate, std::span<const int32_t> past,
                   std::span<const int32_t> future);

  GroupColumns columns_;
  Together together_;
  bool by_place_;                              // categories become places
  std::vector<series::CategoryOrder> orders_;  // by covariate; of the file, or of the group that is added
  std::vector<Group> groups_;
  std::deque<series::EncodedCategories> encoded_;
  std::vector<std::string> notes_;
  std::unordered_set<std::string> noted_;
};

}  // namespace plinth::engine
