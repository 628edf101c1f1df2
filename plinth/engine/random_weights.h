// Makes up the weights of a network, so that its speed can be measured without a model's file.
#pragma once

#include <map>
#include <string>

#include "plinth/plan/weights.h"
#include "plinth/tensor/tensor.h"

namespace plinth::engine {

// Every weight exists, with values that its name alone decides. Matrices and tables are uniform with standard
// deviation 1 / sqrt(last extent), which keeps activations near one from layer to layer; biases are small;
// other vectors, the gains of norms, are one.
class RandomWeights : public plan::WeightSource {
 public:
  // Errors: Unimplemented unless f32; InvalidArgument for a shape that is not constant.
  StatusOr<View> Load(const std::string& name, const ValueType& type) override;
  void Release(const std::string& name) override { tensors_.erase(name); }

 private:
  std::map<std::string, Tensor> tensors_;  // until released
};

}  // namespace plinth::engine
