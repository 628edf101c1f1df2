#include "plinth/server/oip/infer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "plinth/base/text.h"
#include "plinth/server/bounds.h"
#include "plinth/server/fields.h"
#include "plinth/server/oip/series_rows.h"
#include "plinth/server/service.h"

namespace plinth::server::oip {
namespace {

// One request on its way: what was asked, and what the engine's groups point into.
struct Job {
  ModelPtr model;
  std::string id;
  Datatype datatype = Datatype::kFp64;
  std::vector<InferRequest::Output> outputs;
  std::vector<double> levels;       // asked for
  engine::ForecastRequest request;  // whose levels have the median, too
  SeriesRows series;
};

// Writes chosen values of forecasts as they stand in a tensor.
class Packer {
 public:
  Packer(Datatype datatype, size_t count)
      : single_(datatype == Datatype::kFp32),
        bytes_(std::make_shared<std::string>(count * BytesOf(datatype), '\0')),
        at_(bytes_->data()) {}

  void Add(double value) {
    if (single_) {
      const auto narrow = static_cast<float>(value);
      std::memcpy(at_, &narrow, sizeof narrow);
      at_ += sizeof narrow;
    } else {
      std::memcpy(at_, &value, sizeof value);
      at_ += sizeof value;
    }
  }
  std::shared_ptr<const std::string> bytes() const { return bytes_; }

 private:
  bool single_;
  std::shared_ptr<std::string> bytes_;
  char* at_;
};

// [series][horizon][places], where `places` choose among the levels that were computed.
std::shared_ptr<const std::string> Pack(const Job& job, std::span<const engine::Forecast> forecasts,
                                        std::span<const size_t> places) {
  const size_t all = job.request.levels.size(), horizon = static_cast<size_t>(job.request.horizon);
  Packer packer(job.datatype, forecasts.size() * horizon * places.size());
  for (const engine::Forecast& forecast : forecasts) {
    for (size_t h = 0; h < horizon; ++h) {
      for (const size_t place : places) packer.Add(forecast.values[h * all + place]);
    }
  }
  return packer.bytes();
}

InferAnswer MakeAnswer(const Job& job, std::span<const engine::Forecast> forecasts) {
  const auto& all = job.request.levels;
  const auto place = [&](double level) {
    return static_cast<size_t>(std::lower_bound(all.begin(), all.end(), level) - all.begin());
  };
  std::vector<size_t> shown;
  for (const double level : job.levels) shown.push_back(place(level));
  const size_t median = place(0.5);
  InferAnswer answer{job.model, job.id, job.levels, {}, {}};
  for (const InferRequest::Output& output : job.outputs) {
    Tensor tensor{
        output.name, job.datatype, {static_cast<int64_t>(forecasts.size()), job.request.horizon}, {}, {}};
    std::span<const size_t> places(&median, 1);
    if (output.name == "quantiles") {
      tensor.shape.push_back(static_cast<int64_t>(shown.size()));
      places = shown;
    }
    const std::shared_ptr<const std::string> bytes = Pack(job, forecasts, places);
    tensor.data = *bytes;
    tensor.owner = bytes;
    answer.outputs.push_back(std::move(tensor));
    answer.binary.push_back(output.binary);
  }
  return answer;
}

// For the dashboard. Rows of a tensor have neither names nor times: a row is known by its model and place.
void Remember(Service& service, const Job& job, std::span<const engine::Forecast> forecasts) {
  static const std::vector<std::string> kTargets = {"context"};
  // Only so many are kept of one request, and a tensor may have very many rows.
  const size_t count = std::min(job.series.rows.size(), RecentForecasts::Options{}.fresh);
  std::vector<engine::SeriesItem> items(count);
  for (size_t r = 0; r < count; ++r) {
    items[r].item = StrCat(job.model->name(), "[", r, "]");
    items[r].numbered = true;
    items[r].values.emplace_back(job.series.rows[r].begin(), job.series.rows[r].end());
  }
  service.recent().Keep(
      {job.model->name(), evidence::StateName(job.model->gate.state), items, kTargets, job.request.levels},
      [&](size_t item, size_t) -> std::span<const double> { return forecasts[item].values; });
  service.events().Publish("forecast", "{}");
}

}  // namespace

Status OutOfMemory() {
  return absl::ResourceExhaustedError("memory ran out for the answer; ask for fewer series or steps at once");
}

StatusOr<ModelPtr> FindModel(const Service& service, std::string_view name, std::string_view version) {
  if (name.empty()) return FieldError("model_name", "is missing");
  PLINTH_ASSIGN_OR_RETURN(ModelPtr model, service.ModelFor(name));
  if (version.empty() || version == kVersionName) return model;
  return absl::NotFoundError(StrCat("model ", model->name(), " has no version \"", version.substr(0, 60),
                                    "\"; its only one is \"", kVersionName, "\""));
}

Status AddOutput(std::string_view path, std::string_view name, bool binary, InferRequest* request) {
  const auto specs = OutputSpecs();
  const std::string field = StrCat(path, ".name");
  if (std::none_of(specs.begin(), specs.end(), [&](const TensorSpec& s) { return s.name == name; })) {
    return FieldError(field, StrCat("no output is named \"", name.substr(0, 60), "\"; outputs are ",
                                    Join(specs, ", ", [](const TensorSpec& s) { return s.name; })));
  }
  for (const InferRequest::Output& output : request->outputs) {
    if (output.name == name) return FieldError(field, StrCat(name, " is asked for twice"));
  }
  request->outputs.push_back({std::string(name), binary});
  return absl::OkStatus();
}

Status Infer(Service& service, ModelPtr model, const InferRequest& request, double seconds,
             const http::ExchangePtr& exchange, std::function<void(InferAnswer)> finish) {
  PLINTH_ASSIGN_OR_RETURN(const InferParameters parameters, ReadParameters(request.parameters));
  auto job = std::make_shared<Job>();
  job->model = std::move(model);
  job->id = request.id;
  job->outputs = request.outputs;
  job->levels = parameters.levels;
  job->request.levels = WithMedian(parameters.levels);
  PLINTH_RETURN_IF_ERROR(SetReach(*job->model, parameters.horizon, parameters.context_length,
                                  "parameters.horizon", "parameters.context_length", &job->request));
  for (const Tensor& input : request.inputs) {
    if (input.name != "context") continue;
    job->datatype = input.datatype;
    PLINTH_RETURN_IF_ERROR(CheckAnswerSize(input.shape[0], job->request, service.settings()->values));
  }
  PLINTH_ASSIGN_OR_RETURN(job->series, ReadRows(request.inputs, job->request.context));
  auto work = std::make_unique<Work>();
  work->model = job->model;
  work->request = job->request;
  work->groups.reserve(job->series.rows.size());
  for (const std::span<const double> row : job->series.rows) {
    engine::Group group;
    group.rows.push_back({row, {}});
    work->groups.push_back(std::move(group));
  }
  work->owner = job;
  work->priority = parameters.priority;
  if (parameters.seconds > 0)
    seconds = seconds > 0 ? std::min(seconds, parameters.seconds) : parameters.seconds;
  service.Submit({std::move(work), seconds, exchange,
                  [&service, job, exchange, finish = std::move(finish)](
                      const std::vector<engine::Forecast>& forecasts, const Work::Timing&) {
                    std::optional<InferAnswer> answer;
                    try {
                      Remember(service, *job, forecasts);
                      answer = MakeAnswer(*job, forecasts);
                    } catch (const std::bad_alloc&) {
                      exchange->Send(ToResponse(OutOfMemory()));
                      return;
                    }
                    finish(*std::move(answer));
                  }});
  return absl::OkStatus();
}

}  // namespace plinth::server::oip
