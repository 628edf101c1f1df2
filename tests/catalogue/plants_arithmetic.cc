// Faults of arithmetic: a coarser type than declared, flushed subnormals, fast functions, wrong encodings and
// scales.
#include <cmath>

#include "plinth/tensor/half.h"
#include "plinth/verify/element.h"
#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

constexpr int64_t kTerms = 512;

struct Inputs {
  Numbers a, b, right;
};
Inputs MakeInputs(DType dtype, uint64_t seed) {
  Inputs in{Rounded(dtype, Normal({64, kTerms}, seed)), Rounded(dtype, Normal({kTerms, 64}, seed + 1)), {}};
  in.right = Product(in.a, in.b);
  return in;
}

Scene HalfThroughBf16() {
  const Inputs in = MakeInputs(DType::kF16, 21);
  return Simple("matmul", DType::kF16, in.right, ProductF32(in.a, in.b, 16),
                ProductF32(in.a, in.b, 64, ToBf16), kTerms);
}

Scene Tf32BehindF32() {
  const Inputs in = MakeInputs(DType::kF32, 23);
  return Simple("matmul", DType::kF32, in.right, ProductF32(in.a, in.b, 16),
                ProductF32(in.a, in.b, 64, ToTf32), kTerms);
}

// The incumbent is the one that rounds: no fault of the candidate, and worth a remark.
Scene Tf32OnTheIncumbent() {
  const Inputs in = MakeInputs(DType::kF32, 25);
  return Simple("matmul", DType::kF32, in.right, ProductF32(in.a, in.b, 16, ToTf32),
                ProductF32(in.a, in.b, 64), kTerms);
}

Scene Tf32OnBothSides() {
  const Inputs in = MakeInputs(DType::kF32, 27);
  return Simple("matmul", DType::kF32, in.right, ProductF32(in.a, in.b, 16, ToTf32),
                ProductF32(in.a, in.b, 64, ToTf32), kTerms);
}

// One-dimensional Winograd F(4, 3) with transforms stored in half precision, in place of the direct
// convolution.
float HalfOf(double x) { return ToFloat(ToHalf(static_cast<float>(x))); }
struct Convolution {
  Numbers right, direct, winograd;
};
Convolution Convolve() {
  const int64_t channels = 64, length = 64, outputs = 16;
  const Numbers x = Rounded(DType::kF16, Normal({channels, length + 2}, 29));
  const Numbers w = Rounded(DType::kF16, Normal({outputs * channels, 3}, 30, 0.2));
  const Numbers zero{{outputs, length}, std::vector<double>(static_cast<size_t>(outputs * length))};
  Convolution c{zero, zero, zero};
  constexpr double kBt[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
  constexpr double kG[6][3] = {{0.25, 0, 0},
                               {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                               {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                               {1.0 / 24, 1.0 / 12, 1.0 / 6},
                               {1.0 / 24, -1.0 / 12, 1.0 / 6},
                               {0, 0, 1}};
  constexpr double kAt[4][6] = {
      {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t tile = 0; tile < length; tile += 4) {
      float sums[6] = {};
      for (int64_t k = 0; k < channels; ++k) {
        for (int i = 0; i < 6; ++i) {
          double data = 0, weight = 0;
          for (int j = 0; j < 6; ++j) data += kBt[i][j] * x.at(k, tile + j);
          for (int j = 0; j < 3; ++j) weight += kG[i][j] * w.at(o * channels + k, j);
          sums[i] += HalfOf(data) * HalfOf(weight);
        }
        for (int i = 0; i < 4; ++i) {
          for (int j = 0; j < 3; ++j)
            c.right.at(o, tile + i) += x.at(k, tile + i + j) * w.at(o * channels + k, j);
        }
      }
      for (int i = 0; i < 4; ++i) {
        double sum = 0;
        for (int j = 0; j < 6; ++j) sum += kAt[i][j] * HalfOf(sums[j]);
        c.winograd.at(o, tile + i) = sum;
      }
    }
  }
  c.direct = c.right;
  return c;
}

Scene WinogradUndeclared() {
  const Convolution c = Convolve();
  return Simple("conv1d", DType::kF16, c.right, c.direct, c.winograd, 192);
}

Scene BlockedSolverBf16() {
  // One of six solvers of a convolution in bf16 adds up in bf16.
  const Inputs in = MakeInputs(DType::kBF16, 31);
  Scene scene =
      Simple("conv2d", DType::kBF16, in.right, ProductF32(in.a, in.b, 16), ProductF32(in.a, in.b, 8), kTerms);
  scene.labels = {"solver 1"};
  for (int solver = 2; solver <= 6; ++solver) {
    Numbers y = ProductF32(in.a, in.b, 4 * solver);
    if (solver == 5) {
      for (int64_t i = 0; i < y.rows(); ++i) {
        for (int64_t j = 0; j < y.last(); ++j) {
          float sum = 0;
          for (int64_t k = 0; k < kTerms; ++k)
            sum = ToBf16(sum + static_cast<float>(in.a.at(i, k) * in.b.at(k, j)));
          y.at(i, j) = sum;
        }
      }
    }
    scene.candidates.emplace_back(DType::kBF16, y);
    scene.labels.push_back(StrCat("solver ", solver));
  }
  return scene;
}

// A fast exponential: 2^x by a polynomial of too low a degree.
Scene FastExp() {
  const Numbers x = Rounded(DType::kF32, Uniform({32, 128}, 33, -10, 10));
  Numbers right = x, wrong = x;
  for (size_t i = 0; i < x.data.size(); ++i) {
    right.data[i] = std::exp(x.data[i]);
    const float t = static_cast<float>(x.data[i]) * 1.442695F;
    wrong.data[i] = std::exp2(t);  // the argument rounded in f32: errors of |x| units
  }
  return Simple("exp", DType::kF32, right, right, wrong, 1);
}

// a * b + c with and without one rounding in between: both are right.
Scene ContractedOnOneSide() {
  const Numbers a = Rounded(DType::kF32, Uniform({32, 128}, 34, 0.5, 2)),
                b = Rounded(DType::kF32, Uniform({32, 128}, 35, 0.5, 2)),
                c = Rounded(DType::kF32, Uniform({32, 128}, 36, 0.5, 2));
  Numbers right = a, fused = a, apart = a;
  for (size_t i = 0; i < a.data.size(); ++i) {
    right.data[i] = a.data[i] * b.data[i] + c.data[i];
    fused.data[i] =
        std::fma(static_cast<float>(a.data[i]), static_cast<float>(b.data[i]), static_cast<float>(c.data[i]));
    const float product = static_cast<float>(a.data[i]) * static_cast<float>(b.data[i]);
    apart.data[i] = product + static_cast<float>(c.data[i]);
  }
  return Simple("fma", DType::kF32, right, fused, apart, 1);
}

Scene SubnormalsFlushed() {
  const Numbers right = Normal({64, 64}, 37, 1e-38);
  Numbers wrong = right;
  for (double& v : wrong.data) v = std::abs(v) < 0x1p-126 ? 0 : v;
  return Simple("softmax", DType::kF32, right, right, wrong, 64);
}

// 448 is the largest number of e4m3, 240 that of its fnuz kin: dequantised with the other's scale.
Scene WrongFp8Scale() {
  const Numbers right = Normal({64, 64}, 38);
  Numbers wrong = right;
  for (double& v : wrong.data) v *= 448.0 / 240.0;
  return Simple("linear", DType::kF16, right, right, wrong, kTerms);
}

// The same bytes read as the other encoding: fnuz stands for half the value.
Scene WrongFp8Encoding() {
  Numbers codes{{64, 64}, std::vector<double>(4096)};
  Random random(39);
  for (double& v : codes.data) v = static_cast<double>(random.Below(0x77) + (random.Below(2) << 7));
  for (double& v : codes.data) v = v == 128 ? 1 : v;
  Numbers right = codes, wrong = codes;
  Stored bytes(DType::kU8, codes);
  for (int64_t i = 0; i < 4096; ++i) {
    right.data[static_cast<size_t>(i)] = verify::ValueAt(verify::Element::kF8E4M3, bytes.bytes(), i);
    wrong.data[static_cast<size_t>(i)] = verify::ValueAt(verify::Element::kF8E4M3Fnuz, bytes.bytes(), i);
  }
  return Simple("dequantize", DType::kF16, right, right, wrong, 1);
}

Scene Fp8CodesOff() {
  Numbers codes{{64, 64}, std::vector<double>(4096)};
  for (size_t i = 0; i < 4096; ++i) codes.data[i] = static_cast<double>(16 + i % 96);
  Numbers wrong = codes;
  for (size_t i = 0; i < 4096; i += 16) wrong.data[i] += 1;  // rounded towards infinity: 6 % off by one
  Scene scene = Simple("quantize_fp8", DType::kU8, codes, codes, wrong, 1);
  scene.truth = Stored(DType::kU8, codes);
  scene.truth.stored_as = scene.incumbent.stored_as = scene.candidates[0].stored_as = "F8_E4M3";
  return scene;
}

Scene LogNan() {
  const Numbers x = Uniform({32, 64}, 40, 0, 4);
  Numbers right = x;
  for (double& v : right.data) v = std::log(v + 1e-3);
  Numbers wrong = right;
  for (size_t i = 5; i < wrong.data.size(); i += 97) wrong.data[i] = NAN;
  return Simple("log", DType::kF32, right, right, wrong, 1);
}

}  // namespace

std::map<std::string, Plant, std::less<>> ArithmeticPlants() {
  return {{"half_through_bf16", HalfThroughBf16},
          {"tf32_behind_f32", Tf32BehindF32},
          {"tf32_on_the_incumbent", Tf32OnTheIncumbent},
          {"tf32_on_both_sides", Tf32OnBothSides},
          {"winograd_undeclared", WinogradUndeclared},
          {"one_solver_in_bf16", BlockedSolverBf16},
          {"fast_exp", FastExp},
          {"contracted_on_one_side", ContractedOnOneSide},
          {"subnormals_flushed", SubnormalsFlushed},
          {"wrong_fp8_scale", WrongFp8Scale},
          {"wrong_fp8_encoding", WrongFp8Encoding},
          {"fp8_codes_off", Fp8CodesOff},
          {"log_nan", LogNan}};
}

}  // namespace plinth::catalogue
