// Gives plans the weights of a model folder, converted to the types the network wants.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plinth/formats/model_folder.h"
#include "plinth/graph/graph.h"
#include "plinth/plan/weights.h"

namespace plinth::engine {

class ModelWeights : public plan::WeightSource {
 public:
  // Errors: what formats::ModelFolder reports.
  static StatusOr<std::shared_ptr<ModelWeights>> Open(const std::string& folder);

  const formats::ModelFolder& folder() const { return folder_; }
  // Every weight of the graph is there with its shape, and there is nothing else but what `ignored` names.
  // Error: InvalidArgument naming what is missing, extra, or of another shape.
  Status Check(const graph::Graph& graph, const std::vector<std::string>& ignored) const;

  // Further error: DataLoss for a weight that is not finite, naming tensor and element.
  StatusOr<View> Load(const std::string& name, const ValueType& type) override;
  void Release(const std::string& name) override;

 private:
  StatusOr<View> LoadUnchecked(const std::string& name, const ValueType& type);
  explicit ModelWeights(formats::ModelFolder folder) : folder_(std::move(folder)) {}
  formats::ModelFolder folder_;
  std::map<std::string, Tensor> converted_;  // until released
  std::set<std::string> checked_;            // known to be finite
};

}  // namespace plinth::engine
