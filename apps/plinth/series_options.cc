#include "apps/plinth/series_options.h"

#include <span>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/formats/json.h"

namespace plinth::app {
namespace {

// Lists are split where the columns are known, since a name may hold commas.
void AddNames(CLI::App* command, const char* option, std::vector<std::string>* names, const char* about) {
  command->add_option(option, *names, about)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// The options given that need a family with groups.
std::vector<std::string> GroupOptionsGiven(const SeriesOptions& o) {
  std::vector<std::string> given;
  const auto add = [&](bool is, const char* option) {
    if (is) given.emplace_back(option);
  };
  add(!o.columns.past.empty(), "--past");
  add(!o.columns.future.empty(), "--future");
  add(!o.future_data.empty(), "--future-data");
  add(!o.columns.categorical.empty(), "--categorical");
  add(o.joint, "--joint");
  add(!o.columns.group.empty(), "--group");
  add(o.cross_learning, "--cross-learning");
  return given;
}

// "a", "a and b", "a, b and c".
std::string Enumerate(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return StrCat(Join(std::span(names).first(names.size() - 1), ", "), " and ", names.back());
}

}  // namespace

void AddColumnOptions(CLI::App* command, std::string* data, engine::SeriesColumns* c) {
  engine::SeriesColumns& columns = *c;
  command->add_option("-d,--data", *data, "CSV file with a header")->required();
  command->add_option("--time", columns.time,
                      "time column (default: the only one that is time); none numbers the rows");
  command->add_option("--time-format", columns.time_format,
                      "pattern of the time stamps, as \"%d.%m.%Y %H:%M\"");
  command->add_option("--item", columns.item, "column that names the item (series) a row belongs to");
  AddNames(command, "--target", &columns.targets,
           "columns to work on, as a,b (default: all numeric ones without another use)");
  command->add_option("--freq", columns.frequency,
                      "distance of the rows, as 30min, h, D, MS (default: from the stamps)");
}

void AddSeriesOptions(CLI::App* command, SeriesOptions* o) {
  engine::SeriesColumns& columns = o->columns;
  AddColumnOptions(command, &o->data, &columns);
  AddNames(command, "--past", &columns.past, "covariate columns known for the past only, as a,b");
  AddNames(command, "--future", &columns.future,
           "covariate columns known ahead too: in --future-data, or in last rows without targets");
  command->add_option(
      "--future-data", o->future_data,
      "CSV file with the rows ahead of the --future columns, from the step after each item's last");
  AddNames(command, "--categorical", &columns.categorical,
           "covariates whose numbers are names (text, true and false are without being told)");
  command->add_flag("--joint", o->joint, "forecast all targets of an item together");
  command->add_option("--group", columns.group,
                      "column of groups: items of one group are forecast together and learn from each other");
  command->add_flag("--cross-learning", o->cross_learning, "forecast all items of the file together");
}

void AddForecastOptions(CLI::App* command, ForecastOptions* o) {
  command->add_option("-H,--horizon", o->horizon, "steps to forecast (default: the model's own)")
      ->check(CLI::Range(1, 1 << 20));
  command
      ->add_option("-c,--context", o->context,
                   "use at most this many last steps (default: all the model takes)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("-q,--quantiles", o->quantiles, "levels between 0 and 1")->capture_default_str();
  command->add_option("--seed", o->seed, "seed of models that draw random numbers");
}

Status CheckContext(int64_t context, const models::ModelInfo& info) {
  if (context <= info.context_length) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("--context ", context, ": models of the family ", info.family,
                                           " take up to ", info.context_length, " steps here"));
}

StatusOr<engine::Together> TogetherOf(const SeriesOptions& o, const models::ModelInfo& info) {
  const std::vector<std::string> given = GroupOptionsGiven(o);
  if (!info.groups && !given.empty()) {
    return absl::InvalidArgumentError(StrCat(
        "models of the family ", info.family, " forecast each series by itself: leave out ", Enumerate(given),
        ", or name a model with --model whose family sees several series, such as chronos2"));
  }
  if (o.cross_learning && !o.columns.group.empty()) {
    return absl::InvalidArgumentError(
        "--group and --cross-learning exclude each other: groups of items, or all of them in one");
  }
  using Items = engine::Together::Items;
  const Items items = o.cross_learning          ? Items::kAll
                      : o.columns.group.empty() ? Items::kAlone
                                                : Items::kGroup;
  return engine::Together{o.joint, items};
}

Status CheckOutIsNoInput(const std::string& out, const SeriesOptions& series,
                         const formats::ModelFolder& model) {
  if (out.empty()) return absl::OkStatus();
  std::vector<std::string> inputs = model.weights().files();
  inputs.push_back(model.config().where());
  inputs.push_back(series.data);
  if (!series.future_data.empty()) inputs.push_back(series.future_data);
  for (const std::string& input : inputs) {
    if (!SameFile(out, input)) continue;
    return absl::InvalidArgumentError(
        StrCat("--out ", out, " is the file ", input, " that the result is made from; name another one"));
  }
  return absl::OkStatus();
}

std::string UnitName(const engine::SeriesFile& file, std::span<const engine::SeriesItem> unit) {
  const std::string& group = unit[0].group;
  return StrCat(file.path(), ": ",
                group.empty() ? "--cross-learning" : StrCat("group ", formats::QuotedShort(group)));
}

}  // namespace plinth::app
