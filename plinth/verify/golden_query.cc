#include "plinth/verify/golden_query.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "plinth/series/categories.h"

namespace plinth::verify {
namespace {

using ops::RefTensor;

constexpr std::string_view kPast = "past_covariates.", kFuture = "future_covariates.";

size_t At(int64_t i) { return static_cast<size_t>(i); }

class QueryMaker {
 public:
  QueryMaker(const GoldenFolder& folder, const GoldenCase& c, const models::ModelInfo& info)
      : folder_(folder), c_(c), info_(info) {}

  StatusOr<GoldenQuery> Make() {
    query_.horizon = c_.Option("horizon", info_.horizon);
    if (c_.Text("api") == "forward") {
      PLINTH_RETURN_IF_ERROR(Forward());
    } else if (Has("target")) {
      PLINTH_RETURN_IF_ERROR(Targets());
    } else {
      PLINTH_RETURN_IF_ERROR(Series());
    }
    for (const auto& [name, dims] : c_.inputs) {
      if (read_.count(name) == 0) {
        return absl::UnimplementedError(
            StrCat("takes the input \"", name, "\", of which no forecast is known to be made"));
      }
    }
    return std::move(query_);
  }

 private:
  bool Has(const std::string& name) const { return c_.inputs.count(name) > 0; }
  Status Bad(std::string_view what) const {
    return absl::InvalidArgumentError(StrCat("case ", c_.name, ": ", what));
  }

  // The input as [rows][steps]; `rank` 1 is one row. Error: InvalidArgument for another rank.
  StatusOr<std::vector<std::vector<double>>> Rows(const std::string& name, size_t least_rank,
                                                  size_t most_rank) {
    read_.insert(name);
    PLINTH_ASSIGN_OR_RETURN(const RefTensor array, folder_.Input(c_, name));
    if (array.dims.size() < least_rank || array.dims.size() > most_rank) {
      return Bad(StrCat("input ", name, " is [", Join(array.dims, ","), "]; ",
                        most_rank == 1 ? "[steps]" : "[rows, steps]", " is expected"));
    }
    const size_t count = array.dims.size() == 1 ? 1 : At(array.dims[0]), steps = At(array.dims.back());
    std::vector<std::vector<double>> rows;
    for (size_t r = 0; r < count; ++r) {
      const auto begin = array.data.begin() + static_cast<std::ptrdiff_t>(r * steps);
      rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(steps));
    }
    return rows;
  }
  StatusOr<std::vector<double>> OneRow(const std::string& name) {
    PLINTH_ASSIGN_OR_RETURN(auto rows, Rows(name, 1, 1));
    return std::move(rows[0]);
  }

  // Keeps the numbers where they stay.
  std::span<const double> Keep(std::vector<double> values) {
    return query_.values.emplace_back(std::move(values));
  }
  void AddRow(engine::Group& group, std::vector<double> past, std::vector<double> future) {
    query_.batch_rows.push_back(static_cast<int64_t>(query_.batch_rows.size()));
    const std::span<const double> kept = Keep(std::move(past));
    group.rows.push_back({kept, Keep(std::move(future))});
  }

  Status Series() {
    std::vector<std::string> names;
    if (Has("context")) {
      names = {"context"};
    } else {
      while (Has(StrCat("context", names.size()))) names.push_back(StrCat("context", names.size()));
    }
    const bool together = c_.Flag("cross_learning");
    for (size_t i = 0; i < names.size(); ++i) {
      PLINTH_ASSIGN_OR_RETURN(std::vector<double> past, OneRow(names[i]));
      if (i == 0 || !together) query_.groups.emplace_back();
      engine::Group& group = query_.groups.back();
      AddRow(group, std::move(past), {});
      group.targets = static_cast<int64_t>(group.rows.size());
    }
    return absl::OkStatus();
  }

  Status Targets() {
    PLINTH_ASSIGN_OR_RETURN(auto targets, Rows("target", 1, 2));
    if (targets.empty()) return Bad("input target has no rows");
    std::vector<std::string> names;  // those whose future is unknown first
    for (const bool known : {false, true}) {
      for (const auto& [name, dims] : c_.inputs) {
        if (name.rfind(kPast, 0) != 0) continue;
        const std::string covariate = name.substr(kPast.size());
        if (Has(StrCat(kFuture, covariate)) == known) names.push_back(covariate);
      }
    }
    engine::Group group{.targets = static_cast<int64_t>(targets.size())};
    std::vector<std::pair<std::vector<double>, std::vector<double>>> covariates;
    for (const std::string& name : names) {
      PLINTH_ASSIGN_OR_RETURN(auto covariate, Covariate(name, targets));
      covariates.push_back(std::move(covariate));
    }
    for (std::vector<double>& target : targets) AddRow(group, std::move(target), {});
    for (auto& [past, future] : covariates) AddRow(group, std::move(past), std::move(future));
    query_.groups.push_back(std::move(group));
    return absl::OkStatus();
  }

  // Past and future of a covariate; the latter may be empty.
  StatusOr<std::pair<std::vector<double>, std::vector<double>>> Covariate(
      const std::string& name, const std::vector<std::vector<double>>& targets) {
    const std::string past_name = StrCat(kPast, name), future_name = StrCat(kFuture, name);
    PLINTH_ASSIGN_OR_RETURN(std::vector<double> past, OneRow(past_name));
    std::vector<double> future;
    if (Has(future_name)) {
      PLINTH_ASSIGN_OR_RETURN(future, OneRow(future_name));
    }
    if (past.size() != targets[0].size() || (!future.empty() && future.size() != At(query_.horizon))) {
      return Bad(StrCat("covariate ", name, " has ", past.size(), " steps and ", future.size(),
                        " known ahead; the target has ", targets[0].size(), " and the horizon is ",
                        query_.horizon));
    }
    if (!folder_.HasIntegers(c_, past_name)) return std::pair(std::move(past), std::move(future));
    return Encode(name, past, future, targets);
  }

  StatusOr<std::pair<std::vector<double>, std::vector<double>>> Encode(
      const std::string& name, const std::vector<double>& past, const std::vector<double>& future,
      const std::vector<std::vector<double>>& targets) const {
    const std::vector<std::string> labels = c_.Texts("categories");
    std::vector<int32_t> codes[2];
    for (const auto& [from, to] : {std::pair(&past, &codes[0]), {&future, &codes[1]}}) {
      for (const double code : *from) {
        if (!(code >= series::kMissingCategory && code < static_cast<double>(labels.size()))) {
          return Bad(StrCat("covariate ", name, " has the code ", code, "; the option \"categories\" lists ",
                            labels.size()));
        }
        to->push_back(static_cast<int32_t>(code));
      }
    }
    if (targets.size() == 1) {
      auto encoded = series::TargetEncode(codes[0], targets[0], codes[1]);
      return std::pair(std::move(encoded.past), std::move(encoded.future));
    }
    std::vector<bool> known(labels.size());
    for (const int32_t code : codes[0]) {
      if (code >= 0) known[At(code)] = true;
    }
    const auto order = series::CategoryOrder::Of(labels, known);
    return std::pair(series::OrdinalEncode(codes[0], order), series::OrdinalEncode(codes[1], order));
  }

  Status Forward() {
    if (!Has("context")) return Bad("has no input context");
    PLINTH_ASSIGN_OR_RETURN(auto pasts, Rows("context", 2, 2));
    std::vector<double> ids(pasts.size());
    for (size_t r = 0; r < ids.size(); ++r) ids[r] = static_cast<double>(r);
    if (Has("group_ids")) {
      PLINTH_ASSIGN_OR_RETURN(ids, OneRow("group_ids"));
    }
    std::vector<std::vector<double>> futures(pasts.size());
    if (Has("future_covariates")) {
      PLINTH_ASSIGN_OR_RETURN(futures, Rows("future_covariates", 2, 2));
    }
    if (ids.size() != pasts.size() || futures.size() != pasts.size()) {
      return Bad(StrCat("context has ", pasts.size(), " rows, group_ids ", ids.size(), ", future_covariates ",
                        futures.size()));
    }
    const int64_t patches = c_.Option("num_output_patches", 1);
    if (patches < 1 || patches > info_.horizon / info_.stride) {
      return Bad(StrCat("the option num_output_patches is ", patches, "; one pass gives 1 to ",
                        info_.horizon / info_.stride));
    }
    query_.horizon = patches * info_.stride;
    std::map<double, std::vector<size_t>> members;
    for (size_t r = 0; r < ids.size(); ++r) members[ids[r]].push_back(r);
    for (const auto& [id, rows] : members) {
      engine::Group group{.targets = static_cast<int64_t>(rows.size())};
      for (const size_t r : rows) {
        AddRow(group, std::move(pasts[r]), std::move(futures[r]));
        query_.batch_rows.back() = static_cast<int64_t>(r);
      }
      query_.groups.push_back(std::move(group));
    }
    return absl::OkStatus();
  }

  const GoldenFolder& folder_;
  const GoldenCase& c_;
  const models::ModelInfo& info_;
  GoldenQuery query_;
  std::set<std::string> read_;
};

// [steps][levels] -> [levels][steps].
void LevelsFirst(const engine::Forecast& f, double* out) {
  const size_t steps = At(f.horizon), levels = f.values.size() / std::max<size_t>(steps, 1);
  for (size_t h = 0; h < steps; ++h) {
    for (size_t q = 0; q < levels; ++q) out[q * steps + h] = f.values[h * levels + q];
  }
}

}  // namespace

std::vector<double> GoldenQuery::Arrange(std::span<const engine::Forecast> forecasts) const {
  std::vector<std::pair<int64_t, size_t>> order;  // row of the batch, forecast
  size_t row = 0;
  for (const engine::Group& group : groups) {
    for (size_t t = 0; t < At(group.targets); ++t) order.emplace_back(batch_rows[row + t], order.size());
    row += group.rows.size();
  }
  PLINTH_CHECK_EQ(order.size(), forecasts.size());
  std::sort(order.begin(), order.end());
  std::vector<double> values;
  for (const auto& [at, i] : order) {
    values.resize(values.size() + forecasts[i].values.size());
    LevelsFirst(forecasts[i], values.data() + values.size() - forecasts[i].values.size());
  }
  return values;
}

StatusOr<GoldenQuery> MakeQuery(const GoldenFolder& folder, const GoldenCase& c,
                                const models::ModelInfo& info) {
  return QueryMaker(folder, c, info).Make();
}

}  // namespace plinth::verify
