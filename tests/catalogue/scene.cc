#include "tests/catalogue/scene.h"

#include <bit>
#include <cmath>

#include "plinth/tensor/half.h"

namespace plinth::catalogue {
namespace {

size_t CountOf(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t n : dims) count *= n;
  return static_cast<size_t>(count);
}

}  // namespace

Numbers Normal(std::vector<int64_t> dims, uint64_t seed, double deviation) {
  Random random(seed);
  Numbers x{std::move(dims), {}};
  x.data.resize(CountOf(x.dims));
  for (double& v : x.data) v = deviation * random.Normal();
  return x;
}

Numbers Uniform(std::vector<int64_t> dims, uint64_t seed, double low, double high) {
  Random random(seed);
  Numbers x{std::move(dims), {}};
  x.data.resize(CountOf(x.dims));
  for (double& v : x.data) v = random.Uniform(low, high);
  return x;
}

Numbers Rounded(DType dtype, Numbers x) {
  for (double& v : x.data) v = ops::RoundTo(dtype, v);
  return x;
}

Numbers Product(const Numbers& a, const Numbers& b) {
  Numbers y{{a.rows(), b.last()}, std::vector<double>(static_cast<size_t>(a.rows() * b.last()))};
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t k = 0; k < a.last(); ++k) {
      for (int64_t j = 0; j < b.last(); ++j) y.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return y;
}

Numbers ProductF32(const Numbers& a, const Numbers& b, int lanes, const std::function<float(float)>& round) {
  const auto rounded = [&](double x) { return round ? round(static_cast<float>(x)) : static_cast<float>(x); };
  Numbers y{{a.rows(), b.last()}, std::vector<double>(static_cast<size_t>(a.rows() * b.last()))};
  std::vector<float> fa, fb;
  for (const double v : a.data) fa.push_back(rounded(v));
  for (const double v : b.data) fb.push_back(rounded(v));
  const int64_t n = b.last();
  for (int64_t i = 0; i < a.rows(); ++i) {
    std::vector<float> sums(static_cast<size_t>(lanes * n));
    for (int64_t k = 0; k < a.last(); ++k) {
      float* sum = sums.data() + k % lanes * n;
      const float x = fa[static_cast<size_t>(i * a.last() + k)];
      const float* row = fb.data() + k * n;
      for (int64_t j = 0; j < n; ++j) sum[j] += x * row[j];
    }
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int lane = 0; lane < lanes; ++lane) sum += sums[static_cast<size_t>(lane * n + j)];
      y.at(i, j) = sum;
    }
  }
  return y;
}

float ToTf32(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((u + 0xfffu + ((u >> 13) & 1u)) & ~0x1fffu);
}
float ToBf16(float x) { return ToFloat(ToBFloat16(x)); }

Stored::Stored(DType dtype, const Numbers& x)
    : dtype_(dtype), dims_(x.dims), bytes_(x.data.size() * static_cast<size_t>(SizeOf(dtype))) {
  for (size_t i = 0; i < x.data.size(); ++i) Set(static_cast<int64_t>(i), x.data[i]);
}

formats::ConstTensorRef Stored::ref() const {
  return {.name = "planted",
          .dtype = dtype_,
          .dims = dims_,
          .data = bytes_.data(),
          .bytes = static_cast<int64_t>(bytes_.size()),
          .stored = stored_as};
}

void Stored::Set(int64_t i, double x) { verify::StoreElement(dtype_, bytes_.data() + i * SizeOf(dtype_), x); }
double Stored::Get(int64_t i) const {
  return verify::LoadElement(dtype_, bytes_.data() + i * SizeOf(dtype_));
}

Scene Simple(std::string op, DType dtype, const Numbers& truth, const Numbers& incumbent,
             const Numbers& candidate, double terms) {
  Scene scene;
  scene.op = std::move(op);
  scene.truth = Stored(DType::kF64, truth);
  scene.incumbent = Stored(dtype, incumbent);
  scene.candidates = {Stored(dtype, candidate)};
  scene.terms = terms;
  return scene;
}

const std::map<std::string, Plant, std::less<>>& Plants() {
  static const auto kPlants = [] {
    auto all = LanePlants();
    all.merge(ArithmeticPlants());
    all.merge(MemoryPlants());
    all.merge(AttentionPlants());
    all.merge(RunPlants());
    return all;
  }();
  return kPlants;
}

}  // namespace plinth::catalogue
