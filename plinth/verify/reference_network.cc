#include "plinth/verify/reference_network.h"

#include <algorithm>
#include <mutex>

#include "plinth/engine/rollout.h"
#include "plinth/series/quantiles.h"
#include "plinth/tensor/tensor.h"
#include "plinth/verify/placed.h"

namespace plinth::verify {
namespace {

using ops::RefTensor;

int64_t SizeOfDims(const std::vector<int64_t>& dims) {
  int64_t size = 1;
  for (const int64_t d : dims) size *= d;
  return size;
}

// Copies a dense view.
RefTensor InDouble(const View& view) {
  RefTensor t{{view.dims, view.dims + view.rank}, {}};
  t.data.reserve(static_cast<size_t>(view.size()));
  const auto* bytes = static_cast<const std::byte*>(view.data);
  for (int64_t i = 0; i < view.size(); ++i) {
    t.data.push_back(LoadElement(view.dtype, bytes + i * SizeOf(view.dtype)));
  }
  return t;
}

// A tensor of the type at these extents.
StatusOr<Tensor> Allocate(const ValueType& type, const Extents& extents) {
  PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> dims, Resolve(type.shape, extents));
  return Tensor(type.dtype, std::move(dims));
}

// The call with every dimension a number.
StatusOr<ops::OpCall> CallAt(const ops::OpCall& call, const Extents& extents) {
  ops::OpCall fixed = call;
  const auto fix = [&](ValueType* type) -> Status {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Resolve(type->shape, extents));
    type->shape.assign(dims.begin(), dims.end());
    return absl::OkStatus();
  };
  for (auto& in : fixed.inputs) {
    if (in.has_value()) PLINTH_RETURN_IF_ERROR(fix(&*in));
  }
  for (ValueType& out : fixed.outputs) PLINTH_RETURN_IF_ERROR(fix(&out));
  return fixed;
}

}  // namespace

StatusOr<ReferenceNetwork> ReferenceNetwork::Make(const engine::Session& session, bool grouped) {
  ReferenceNetwork network;
  network.session_ = &session;
  graph::GraphBuilder builder;
  session.model().Build(builder, {.grouped = grouped, .published = true});
  PLINTH_ASSIGN_OR_RETURN(network.graph_, builder.Finish());
  const graph::Graph& g = network.graph_;
  network.constants_.resize(g.values.size());
  network.last_use_.assign(g.values.size(), -1);
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (g.values[v].kind != graph::ValueKind::kConstant) continue;
    PLINTH_ASSIGN_OR_RETURN(const View view, session.weights().Load(g.values[v]));
    network.constants_[v] = InDouble(view);
    session.weights().Release(g.values[v]);
  }
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (ops::FindChecks(g.nodes[n].call.spec->name) == nullptr) {
      return absl::InternalError(StrCat(g.nodes[n].call.spec->name, " has no reference"));
    }
    for (const int v : g.nodes[n].inputs) {
      if (v >= 0) network.last_use_[static_cast<size_t>(v)] = static_cast<int>(n);
    }
  }
  for (const int v : g.outputs) network.last_use_[static_cast<size_t>(v)] = static_cast<int>(g.nodes.size());
  return network;
}

// Rows go in and out through the model's codec, as in every plan.
StatusOr<ReferenceNetwork::Result> ReferenceNetwork::Run(std::span<const std::span<const models::Row>> groups,
                                                         int64_t steps, bool layers,
                                                         StopCheck cancelled) const {
  const models::Model& model = session_->model();
  engine::RunSize size{};
  for (const auto& group : groups) {
    for (const models::Row& row : group) {
      size.tokens += model.Tokens(static_cast<int64_t>(row.past.size()), steps);
      ++size.rows;
    }
  }
  const Extents capacity = model.Capacity(size.rows, size.tokens);
  const auto codec = model.MakeCodec(size.rows, size.tokens, session_->context().isa);
  std::vector<Tensor> storage;
  std::vector<View> inputs;
  for (const int v : graph_.inputs) {
    PLINTH_ASSIGN_OR_RETURN(Tensor tensor, Allocate(graph_.values[static_cast<size_t>(v)].type, capacity));
    storage.push_back(std::move(tensor));
    inputs.push_back(storage.back().view());
  }
  codec->Begin(inputs, steps);
  for (const auto& group : groups) codec->Add(group);
  const std::vector<std::string> names = model.dimensions();
  std::vector<int64_t> counts(names.size());
  codec->Finish(counts);
  Extents extents;
  for (size_t d = 0; d < names.size(); ++d) extents.emplace_back(names[d], counts[d]);

  std::vector<RefTensor> values(graph_.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t v = static_cast<size_t>(graph_.inputs[i]);
    PLINTH_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Resolve(graph_.values[v].type.shape, extents));
    values[v] =
        InDouble(DenseView(inputs[i].data, inputs[i].dtype, dims.data(), static_cast<int>(dims.size())));
  }
  Result result;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (cancelled()) return absl::CancelledError("interrupted");
    const graph::Node& node = graph_.nodes[n];
    PLINTH_ASSIGN_OR_RETURN(const ops::OpCall call, CallAt(node.call, extents));
    ops::RefIo io;
    for (const int v : node.inputs) {
      if (v < 0) {
        io.in.emplace_back();
        continue;
      }
      const size_t at = static_cast<size_t>(v);
      const bool constant = graph_.values[at].kind == graph::ValueKind::kConstant;
      io.in.push_back(constant ? constants_[at] : values[at]);
    }
    for (const ValueType& type : call.outputs) {
      PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> dims, Resolve(type.shape, {}));
      const auto count = static_cast<size_t>(SizeOfDims(dims));
      io.out.push_back({std::move(dims), std::vector<double>(count, 0.0)});
    }
    ops::FindChecks(call.spec->name)->reference(call, io);
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const size_t v = static_cast<size_t>(node.outputs[o]);
      const graph::GraphValue& value = graph_.values[v];
      if (layers && !value.name.empty()) {
        result.layers.push_back({value.name, call.spec->name, io.out[o]});
        for (const std::string& other : value.other_names) {
          result.layers.push_back({other, call.spec->name, io.out[o]});
        }
      }
      values[v] = std::move(io.out[o]);
    }
    for (const int v : node.inputs) {
      if (v >= 0 && last_use_[static_cast<size_t>(v)] == static_cast<int>(n)) {
        values[static_cast<size_t>(v)] = {};
      }
    }
  }
  // The codec reads f32: the truth rounded once.
  std::vector<Tensor> rounded;
  std::vector<View> outputs;
  for (const int v : graph_.outputs) {
    const RefTensor& out = values[static_cast<size_t>(v)];
    rounded.emplace_back(DType::kF32, out.dims);
    float* to = rounded.back().view().as<float>();
    for (size_t i = 0; i < out.data.size(); ++i) to[i] = static_cast<float>(out.data[i]);
    outputs.push_back(rounded.back().view());
  }
  const size_t each = static_cast<size_t>(steps) * model.info().levels.size();
  result.quantiles.resize(static_cast<size_t>(size.rows) * each);
  for (int64_t r = 0; r < size.rows; ++r) {
    codec->Read(outputs, r, std::span(result.quantiles).subspan(static_cast<size_t>(r) * each, each));
  }
  return result;
}

StatusOr<std::vector<engine::Forecast>> ReferenceForecast(const ReferenceNetwork& network,
                                                          const engine::Session& session,
                                                          std::span<const engine::Group> groups,
                                                          const engine::ForecastRequest& request,
                                                          StopCheck cancelled) {
  const models::ModelInfo& info = session.model().info();
  PLINTH_ASSIGN_OR_RETURN(const std::vector<double> levels, series::NormaliseQuantiles(request.levels));
  const size_t context = static_cast<size_t>(request.context == 0 ? info.context_length : request.context);
  std::vector<models::Row> rows;
  std::vector<size_t> begins = {0};
  std::vector<engine::Forecast> forecasts;
  for (const engine::Group& group : groups) {
    for (const models::Row& row : group.rows) {
      rows.push_back({row.past.last(std::min(row.past.size(), context)), row.future});
    }
    begins.push_back(rows.size());
    for (int64_t t = 0; t < group.targets; ++t) {
      forecasts.push_back(
          {request.horizon, std::vector<double>(static_cast<size_t>(request.horizon) * levels.size())});
    }
  }
  std::vector<std::span<double>> results;
  size_t next = 0;
  for (const engine::Group& group : groups) {
    for (size_t r = 0; r < group.rows.size(); ++r) {
      const bool target = r < static_cast<size_t>(group.targets);
      results.push_back(target ? std::span(forecasts[next++].values) : std::span<double>());
    }
  }
  engine::Rollout rollout(info, std::move(rows), begins, levels, request.horizon);
  Threads& threads = *session.context().threads;
  while (rollout.steps() > 0) {
    // One unit for each path of each group.
    std::vector<std::span<const models::Row>> units;
    std::vector<size_t> first;
    size_t row = 0;
    for (const engine::Group& group : groups) {
      for (size_t p = 0; p < rollout.paths(); ++p, row += group.rows.size()) {
        units.push_back(rollout.rows().subspan(row, group.rows.size()));
        first.push_back(row);
      }
    }
    const size_t each = static_cast<size_t>(rollout.steps()) * info.levels.size();
    std::vector<double> quantiles(rollout.rows().size() * each);
    std::mutex mutex;
    Status error;
    threads.For(static_cast<int64_t>(units.size()), [&](int64_t u, int) {
      const auto at = static_cast<size_t>(u);
      auto result = network.Run({&units[at], 1}, rollout.steps(), /*layers=*/false, cancelled);
      if (result.ok()) {
        std::copy(result->quantiles.begin(), result->quantiles.end(),
                  quantiles.begin() + static_cast<ptrdiff_t>(first[at] * each));
        return;
      }
      std::lock_guard lock(mutex);
      if (error.ok()) error = result.status();
    });
    PLINTH_RETURN_IF_ERROR(error);
    rollout.Take(quantiles, results, threads);
  }
  return forecasts;
}

}  // namespace plinth::verify
