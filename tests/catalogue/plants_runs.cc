// Faults that only some ranks, repeats, turns or configurations show.
#include <cmath>

#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

struct Inputs {
  Numbers a, b, right;
};
Inputs MakeInputs(uint64_t seed) {
  Inputs in{
      Rounded(DType::kF32, Normal({32, 256}, seed)), Rounded(DType::kF32, Normal({256, 32}, seed + 1)), {}};
  in.right = Product(in.a, in.b);
  return in;
}

// `count` results of a product; `spoil` changes one.
Scene Many(const Inputs& in, std::string_view label, int count, int bad, void (*spoil)(Numbers& y)) {
  Scene scene =
      Simple("matmul", DType::kF32, in.right, ProductF32(in.a, in.b, 16), ProductF32(in.a, in.b, 8), 256);
  scene.candidates.clear();
  for (int i = 0; i < count; ++i) {
    Numbers y = ProductF32(in.a, in.b, 8);
    if (i == bad) spoil(y);
    scene.candidates.emplace_back(DType::kF32, y);
    scene.labels.push_back(StrCat(label, " ", i));
  }
  return scene;
}

void SpoilRows(Numbers& y) {
  for (int64_t j = 0; j < y.last(); ++j) y.at(y.rows() - 1, j) *= -1;
}
void SpoilOne(Numbers& y) { y.at(7, 9) += 1; }
void Scramble(Numbers& y) {
  const Numbers noise = Normal(y.dims, 90, 16);
  for (int64_t i = 16; i < 32; ++i) {
    for (int64_t j = 0; j < y.last(); ++j) y.at(i, j) = noise.at(i, j);
  }
}

Scene SecondRunWrong() { return Many(MakeInputs(91), "repeat", 2, 1, SpoilRows); }
Scene OneConfigurationWrong() { return Many(MakeInputs(93), "configuration", 6, 3, SpoilOne); }
Scene OnlyRankZeroRight() { return Many(MakeInputs(95), "rank", 2, 1, SpoilRows); }
Scene SplitOverCards() { return Many(MakeInputs(97), "cards 1, 2, 4, 8: case", 4, 3, Scramble); }

// All-reduce of eight ranks in 1080 turns; five turns leave other bits on one rank.
Scene AllReduceTurns() {
  const Numbers sum = Normal({4, 64}, 99);
  Scene scene = Simple("all_reduce", DType::kF32, sum, sum, sum, 8);
  scene.candidates.clear();
  scene.same_on_all_ranks = true;
  for (int rank = 0; rank < 8; ++rank) {
    Numbers y = Rounded(DType::kF32, sum);
    if (rank == 6) y.at(2, 11) = std::nextafterf(static_cast<float>(y.at(2, 11)), 9.0F);
    scene.candidates.emplace_back(DType::kF32, y);
    scene.labels.push_back(StrCat("rank ", rank));
  }
  return scene;
}

// "Deterministic" was asked for; the order of additions still changes from run to run.
Scene NotDeterministic() {
  const Inputs in = MakeInputs(101);
  Scene scene =
      Simple("matmul", DType::kF32, in.right, ProductF32(in.a, in.b, 16), ProductF32(in.a, in.b, 8), 256);
  scene.band = verify::TensorBand{.runs = 5, .bitwise = true};
  return scene;
}

// Eager is right, the compiled graph is not.
Scene CompiledGraph() {
  const Inputs in = MakeInputs(103);
  Scene scene = Many(in, "eager", 1, -1, SpoilOne);
  Numbers y = ProductF32(in.a, in.b, 8);
  for (double& v : y.data) v = std::max(v, 0.0);  // an activation was fused that is not there
  scene.candidates.emplace_back(DType::kF32, y);
  scene.labels.push_back("compiled");
  return scene;
}

// Logits that have nothing to do with the prompt.
Scene Nonsense() {
  const Numbers right = Normal({4, 1024}, 105, 3), wrong = Normal({4, 1024}, 106, 3);
  return Simple("module", DType::kF32, right, right, wrong, 256);
}

// Ten times nearer to the truth than the incumbent: another arithmetic than the one that was to be tested.
Scene BetterThanTheReference() {
  const Numbers a = Rounded(DType::kF32, Normal({32, 256}, 107)),
                b = Rounded(DType::kF32, Normal({256, 32}, 108));
  Scene scene =
      Simple("matmul", DType::kF32, Product(a, b), ProductF32(a, b, 8, ToTf32), ProductF32(a, b, 8), 256);
  scene.arithmetic = "tf32";
  return scene;
}

}  // namespace

std::map<std::string, Plant, std::less<>> RunPlants() {
  return {{"second_run_wrong", SecondRunWrong},
          {"one_configuration_wrong", OneConfigurationWrong},
          {"only_rank_zero_right", OnlyRankZeroRight},
          {"split_over_cards", SplitOverCards},
          {"all_reduce_turns", AllReduceTurns},
          {"not_deterministic", NotDeterministic},
          {"compiled_graph", CompiledGraph},
          {"nonsense", Nonsense},
          {"better_than_the_reference", BetterThanTheReference}};
}

}  // namespace plinth::catalogue
