#include "plinth/verify/layer_chain.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace plinth::verify {
namespace {

std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

// The output that stands for the layer: the module's own, else the last one of a module in it, else the last.
std::optional<size_t> OutputOf(const Layer& layer, const PairedRuns& runs) {
  std::optional<size_t> own, module, any;
  for (const size_t p : layer.pairs) {
    const Pair& pair = runs.pairs()[p];
    if (pair.direction != formats::CaptureDirection::kOutput) continue;
    if (!runs.Comparable(p, false) && !runs.Comparable(p, true)) continue;
    any = p;
    if (pair.name.find('/') == pair.name.npos) module = p;
    if (pair.name == layer.module && pair.port == 0) own = p;
  }
  return own.has_value() ? own : module.has_value() ? module : any;
}

}  // namespace

std::string_view ModulePath(std::string_view name) { return name.substr(0, name.find('/')); }

LayerName LayerOf(std::string_view name, std::string_view op) {
  // The network's inputs and its result belong to no module; neither do operators outside any.
  if (op == "input" || op == "output") return {std::string(name), std::nullopt};
  if (name.starts_with(op) && name.size() > op.size() && name[op.size()] == '.' &&
      Number(name.substr(op.size() + 1)).has_value() && name.find('/') == name.npos && op != "module") {
    return {std::string(name), std::nullopt};
  }
  std::string_view path = ModulePath(name);
  if (path.empty()) return {std::string(name), std::nullopt};
  // "a.3.b#1" is b in the second call of a.3 within one step.
  const std::string_view call = path.substr(std::min(path.find('#'), path.size()));
  path.remove_suffix(call.size());
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (const auto number = Number(path.substr(begin, end - begin)); number.has_value()) {
      return {StrCat(path.substr(0, end), call), number};
    }
    begin = end + 1;
  }
  return {StrCat(path, call), std::nullopt};
}

std::vector<Layer> LayersOf(const PairedRuns& runs) {
  std::vector<Layer> layers;
  std::map<std::pair<int64_t, std::string>, size_t> known;
  for (size_t p = 0; p < runs.pairs().size(); ++p) {
    const Pair& pair = runs.pairs()[p];
    LayerName name = LayerOf(pair.name, pair.op);
    const auto [at, fresh] = known.emplace(std::pair(pair.step, name.module), layers.size());
    if (fresh) layers.push_back({std::move(name.module), name.layer, pair.step, {}, 0});
    layers[at->second].pairs.push_back(p);
  }
  std::vector<Layer> comparable;
  for (Layer& layer : layers) {
    const auto output = OutputOf(layer, runs);
    if (!output.has_value()) continue;
    layer.output = *output;
    comparable.push_back(std::move(layer));
  }
  std::stable_sort(comparable.begin(), comparable.end(),
                   [](const Layer& a, const Layer& b) { return a.output < b.output; });
  return comparable;
}

}  // namespace plinth::verify
