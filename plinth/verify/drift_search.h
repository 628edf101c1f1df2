// Searches the layers of one rank for the first that drifts, then the layer for the operator. Internal to the
// search for drift.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plinth/verify/layer_chain.h"
#include "plinth/verify/locate.h"

namespace plinth::verify {

class DriftSearch {
 public:
  // `runs` must outlive it.
  DriftSearch(PairedRuns& runs, int64_t stride) : runs_(runs), layers_(LayersOf(runs)), stride_(stride) {}

  // Fills first_drift, explored, layers and looks; adds notes.
  void Run(LocateResult* result);

  const std::vector<Layer>& layers() const { return layers_; }
  // The place of first_drift in layers(). Only after a Run that found one.
  size_t found() const { return *found_; }

 private:
  // Look, kept among what was explored. nullopt: not comparable.
  std::optional<Drift> Explore(size_t pair, bool forced, Explored::What what);
  bool Drifted(size_t layer);
  std::optional<size_t> FirstFree();
  std::optional<size_t> ByBisection();
  // The worst error of its own that anything in the layer has, being forced itself and fed what was forced.
  std::optional<Drift> Local(size_t layer);
  std::optional<size_t> FirstLocal(std::optional<size_t> free);
  void Describe(size_t layer, bool local);
  void NarrowDown(size_t layer, bool forced);
  void LookAtInputs(size_t pair, const Layer& layer, bool forced);
  void FillLayers();

  PairedRuns& runs_;
  std::vector<Layer> layers_;
  const int64_t stride_;
  LocateResult* result_ = nullptr;
  std::optional<size_t> found_;
  std::vector<uint8_t> looked_[2];  // [forced], by pair
};

}  // namespace plinth::verify
