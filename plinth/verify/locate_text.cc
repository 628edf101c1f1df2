#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/locate.h"

namespace plinth::verify {
namespace {

using formats::JsonWriter;

std::string_view WhatName(Explored::What what) {
  switch (what) {
    case Explored::What::kLayer:
      return "layer";
    case Explored::What::kLocal:
      return "local";
    case Explored::What::kOperator:
      return "operator";
    case Explored::What::kReplacement:
      return "replacement";
  }
  return "";
}

std::string_view ConfirmationName(Confirmation confirmation) {
  switch (confirmation) {
    case Confirmation::kNotTried:
      return "not_tried";
    case Confirmation::kRepaired:
      return "repaired";
    case Confirmation::kNotRepaired:
      return "not_repaired";
    case Confirmation::kNotSeenHere:
      return "not_seen_here";
  }
  return "";
}

void NumberOrNull(std::string_view key, const std::optional<double>& value, JsonWriter& json) {
  json.Key(key);
  if (value.has_value()) {
    json.Number(*value);
  } else {
    json.Null();
  }
}

void IntOrNull(std::string_view key, const std::optional<int64_t>& value, JsonWriter& json) {
  json.Key(key);
  if (value.has_value()) {
    json.Int(*value);
  } else {
    json.Null();
  }
}

void WriteFirst(const FirstDrift& first, JsonWriter& json) {
  json.BeginObject();
  json.Key("name"), json.String(first.name);
  json.Key("op"), json.String(first.op);
  IntOrNull("layer", first.layer, json);
  NumberOrNull("rel_l2_local", first.local, json);
  NumberOrNull("rel_l2_free", first.free, json);
  NumberOrNull("amplification", first.amplification, json);
  json.Key("module"), json.String(first.module);
  json.Key("step"), json.Int(first.step);
  json.Key("rank"), json.Int(first.rank);
  json.Key("limit"), json.Number(first.limit);
  json.Key("by"), json.String(ByName(first.by));
  json.Key("accumulated"), json.Bool(first.accumulated);
  json.Key("note");
  first.note.empty() ? json.Null() : json.String(first.note);
  json.EndObject();
}

void WriteLayer(const LayerDrift& layer, JsonWriter& json) {
  const auto value = [](const std::optional<Drift>& drift) {
    return drift.has_value() ? std::optional(drift->rel_l2) : std::nullopt;
  };
  json.BeginObject();
  json.Key("module"), json.String(layer.module);
  json.Key("name"), json.String(layer.name);
  IntOrNull("layer", layer.layer, json);
  json.Key("step"), json.Int(layer.step);
  NumberOrNull("rel_l2_free", value(layer.free), json);
  NumberOrNull("rel_l2_local", value(layer.local), json);
  NumberOrNull("amplification", layer.amplification, json);
  const auto& shown = layer.free.has_value() ? layer.free : layer.local;
  if (shown.has_value()) {
    json.Key("limit"), json.Number(shown->limit);
    json.Key("by"), json.String(ByName(shown->by));
    json.Key("drifted"), json.Bool(shown->significant());
  }
  json.EndObject();
}

// A short number; "broken" for what has no size.
std::string Size(double value) {
  if (std::isinf(value)) return "broken";
  if (value == 0) return "0";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2e", value);
  return text;
}

// The bar of a drift between 1e-9 and 10 on a logarithmic scale.
std::string Bar(double value, int cells, const char* cell) {
  constexpr double kLow = -9, kHigh = 1;
  const double at = std::isinf(value) ? kHigh : value > 0 ? std::log10(value) : kLow;
  const double share = (std::clamp(at, kLow, kHigh) - kLow) / (kHigh - kLow);
  std::string bar;
  for (int i = 0; i < static_cast<int>(std::lround(share * cells)); ++i) bar += cell;
  return bar;
}

std::string Padded(std::string text, size_t width) {
  if (text.size() > width) text = "..." + text.substr(text.size() - (width - 3));
  text.resize(width, ' ');
  return text;
}

// The first sentence, for a person.
std::string Sentence(const LocateResult& result) {
  if (result.good()) {
    return StrCat("no significant drift in ", result.compared,
                  result.compared == 1 ? " layer that both runs have" : " layers that both runs have");
  }
  const FirstDrift& first = *result.first_drift;
  std::string text =
      StrCat(first.accumulated ? "drift adds up and exceeds its limit first at " : "first drift at ",
             first.name, " (", first.op, ")");
  if (first.name != first.module) StrAppend(&text, " in ", first.module);
  if (first.step > 0) StrAppend(&text, ", step ", first.step);
  if (first.rank > 0) StrAppend(&text, ", rank ", first.rank);
  text += ": relative L2";
  if (first.by == Drift::By::kStatistics) text += " by statistics at least";
  if (first.local.has_value()) StrAppend(&text, " ", Size(*first.local), " of its own");
  if (first.free.has_value()) {
    StrAppend(&text, first.local.has_value() ? ", " : " ", Size(*first.free), " in the free run");
  }
  StrAppend(&text, ", limit ", Size(first.limit));
  if (first.amplification.has_value()) StrAppend(&text, "; amplification ", Size(*first.amplification));
  if (!first.note.empty()) StrAppend(&text, "; ", first.note);
  return text;
}

std::string Picture(const LocateResult& result, int width, bool ascii) {
  const char *full = ascii ? "#" : "\u2588", *light = ascii ? "-" : "\u2591";
  const bool local = std::any_of(result.layers.begin(), result.layers.end(),
                                 [](const LayerDrift& l) { return l.local.has_value(); });
  size_t longest = 8;
  for (const LayerDrift& layer : result.layers) longest = std::max(longest, layer.module.size());
  const size_t name = std::min<size_t>(longest, static_cast<size_t>(std::max(width / 3, 16)));
  const int cells = std::max(width - static_cast<int>(name) - 14, 10);
  std::string out = StrCat("drift over depth, relative L2 from 1e-9 to 10, logarithmic (", full, " free run",
                           local ? StrCat(", ", light, " of the layer itself") : "", ")\n");
  for (const LayerDrift& layer : result.layers) {
    const auto line = [&](const std::optional<Drift>& drift, std::string_view label, const char* cell) {
      if (!drift.has_value()) return;
      const char mark = drift->significant() ? '!' : drift->by == Drift::By::kStatistics ? '~' : ' ';
      StrAppend(&out, Padded(std::string(label), name), " ", Padded(Size(drift->rel_l2), 8), " ",
                std::string(1, mark), " ", Bar(drift->rel_l2, cells, cell), "\n");
    };
    line(layer.free, layer.module, full);
    line(layer.local, layer.free.has_value() ? "" : layer.module, light);
  }
  return out + "! beyond its limit; ~ at least, by statistics\n";
}

}  // namespace

std::string ToJson(const LocateResult& result) {
  std::string out;
  JsonWriter json(&out);
  json.BeginObject();
  json.Key("first_drift");
  if (result.first_drift.has_value()) {
    WriteFirst(*result.first_drift, json);
  } else {
    json.Null();
  }
  json.Key("explored"), json.BeginArray();
  for (const Explored& look : result.explored) {
    json.BeginObject();
    json.Key("name"), json.String(look.name);
    json.Key("what"), json.String(WhatName(look.what));
    json.Key("rel_l2"), json.Number(look.drift.rel_l2);
    json.Key("limit"), json.Number(look.drift.limit);
    json.Key("by"), json.String(ByName(look.drift.by));
    json.Key("drifted"), json.Bool(look.drift.significant());
    json.EndObject();
  }
  json.EndArray();
  json.Key("looks"), json.Int(result.looks);
  json.Key("compared"), json.Int(result.compared);
  json.Key("layers"), json.BeginArray();
  for (const LayerDrift& layer : result.layers) WriteLayer(layer, json);
  json.EndArray();
  json.Key("confirmation"), json.BeginObject();
  json.Key("status"), json.String(ConfirmationName(result.confirmation));
  json.Key("text");
  result.confirmation_text.empty() ? json.Null() : json.String(result.confirmation_text);
  json.EndObject();
  json.Key("notes"), json.BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray();
  json.Key("verdict"), json.String(result.verdict());
  json.EndObject();
  return out;
}

std::string ToText(const LocateResult& result, int width, bool ascii) {
  std::string out = Picture(result, width, ascii);
  if (!result.explored.empty()) {
    StrAppend(&out, "explored: ", result.looks, result.looks == 1 ? " look" : " looks", " at layers, ",
              result.explored.size(), " comparisons in all\n");
  }
  for (const std::string& note : result.notes) StrAppend(&out, "note: ", note, "\n");
  if (!result.confirmation_text.empty()) StrAppend(&out, result.confirmation_text, "\n");
  return out + Sentence(result) + "\n";
}

}  // namespace plinth::verify
