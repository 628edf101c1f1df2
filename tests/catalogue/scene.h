// Holds one planted fault: what was right, what the incumbent gave, what the candidate gave, and how it is
// judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/random.h"
#include "plinth/verify/band.h"
#include "plinth/verify/placed.h"
#include "plinth/verify/rules.h"

namespace plinth::catalogue {

// Numbers and their shape, before they are stored.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> data;

  int64_t last() const { return dims.back(); }
  int64_t rows() const { return static_cast<int64_t>(data.size()) / last(); }
  double& at(int64_t row, int64_t column) { return data[static_cast<size_t>(row * last() + column)]; }
  double at(int64_t row, int64_t column) const { return data[static_cast<size_t>(row * last() + column)]; }
};

Numbers Normal(std::vector<int64_t> dims, uint64_t seed, double deviation = 1);
Numbers Uniform(std::vector<int64_t> dims, uint64_t seed, double low, double high);
// Each number rounded to the type.
Numbers Rounded(DType dtype, Numbers x);
// [m][k] x [k][n] in double.
Numbers Product(const Numbers& a, const Numbers& b);
// The same with sums in f32 over `lanes` partial sums, inputs rounded by `round` first.
Numbers ProductF32(const Numbers& a, const Numbers& b, int lanes,
                   const std::function<float(float)>& round = nullptr);
float ToTf32(float x);
float ToBf16(float x);

// Stored bytes.
class Stored {
 public:
  Stored() = default;
  Stored(DType dtype, const Numbers& x);
  formats::ConstTensorRef ref() const;
  void Set(int64_t i, double x);
  double Get(int64_t i) const;
  std::byte* bytes() { return bytes_.data(); }
  bool empty() const { return bytes_.empty(); }
  std::string_view stored_as;  // "F8_E4M3" where the bytes are codes

 private:
  DType dtype_ = DType::kF32;
  std::vector<int64_t> dims_;
  std::vector<std::byte> bytes_;
};

struct Scene {
  std::string op, rule_class, arithmetic;
  Stored truth, incumbent;
  // One per rank, repeat, solver or configuration, with its label; most faults need one.
  std::vector<Stored> candidates;
  std::vector<std::string> labels;
  double terms = 0;
  std::optional<uint64_t> canary;
  std::optional<verify::TensorBand> band;
  Stored order_input, order_values;  // of indices
  Stored earlier;                    // what the candidate gave for other inputs before
  bool same_on_all_ranks = false;    // candidates are ranks that must agree bit by bit
  bool truth_rounded = false;
};

// By the name that the table uses.
using Plant = Scene (*)();
const std::map<std::string, Plant, std::less<>>& Plants();

// One map per file of plants.
std::map<std::string, Plant, std::less<>> LanePlants();
std::map<std::string, Plant, std::less<>> ArithmeticPlants();
std::map<std::string, Plant, std::less<>> MemoryPlants();
std::map<std::string, Plant, std::less<>> AttentionPlants();
std::map<std::string, Plant, std::less<>> RunPlants();

// A scene with one candidate.
Scene Simple(std::string op, DType dtype, const Numbers& truth, const Numbers& incumbent,
             const Numbers& candidate, double terms);

}  // namespace plinth::catalogue
