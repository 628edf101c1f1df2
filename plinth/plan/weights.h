// Keeps the constants of a model for its plans: packed once, shared, and the source's pages given back.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plinth/graph/graph.h"
#include "plinth/ops/cpu_step.h"

namespace plinth::plan {

// Where weights come from (a model folder); implemented by the engine.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The weight `name` as `type` says (shape checked, element type converted where it differs). The
  // memory is valid while the source lives. Error: NotFound, InvalidArgument naming found and expected.
  virtual StatusOr<View> Load(const std::string& name, const ValueType& type) = 0;
  // The weight has been copied or packed; its pages may go.
  virtual void Release(const std::string& name) = 0;
};

// Shared by all plans over one model. Thread-safe.
class Weights {
 public:
  explicit Weights(std::shared_ptr<WeightSource> source) : source_(std::move(source)) {}

  // The constant behind a graph value, straight from the source or the literal.
  StatusOr<View> Load(const graph::GraphValue& value);
  // A dense, aligned copy that lives as long as this object, made once.
  StatusOr<View> Keep(const graph::GraphValue& value);
  // Prepared weights under `key` and the names of the constants, made once.
  StatusOr<ops::CpuKernel::Prepared> Prepare(const std::string& key, ops::PrepareCache::Make make);
  void Release(const graph::GraphValue& value);

  // Bytes held in packed form and in kept copies.
  int64_t bytes() const;

 private:
  std::shared_ptr<WeightSource> source_;  // may be null when all constants are literals
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Tensor>> kept_;
  std::map<std::string, ops::CpuKernel::Prepared> prepared_;
};

}  // namespace plinth::plan
