#include "plinth/evidence/environment_diff.h"

#include <algorithm>
#include <set>

#include "plinth/base/text.h"

namespace plinth::evidence {
namespace {

constexpr std::string_view kOneSide = "it is known on one side only, so nobody can say that it is the same";

// What a whole item amounts to: its first facts.
std::string Summary(const Environment& e, const Fact& first) {
  std::string text;
  int shown = 0;
  for (const Fact& fact : e.facts) {
    if (fact.section != first.section || fact.item != first.item || shown == 3) continue;
    if (shown++ > 0) text += ", ";
    StrAppend(&text, fact.name, " ", FactText(fact.value));
  }
  return text;
}

bool HasItem(const Environment& e, const Fact& fact) {
  return std::any_of(e.facts.begin(), e.facts.end(),
                     [&](const Fact& f) { return f.section == fact.section && f.item == fact.item; });
}

// The strongest effect that any fact of the item has.
EffectOfFact EffectOfItem(const Environment& e, const Fact& first) {
  EffectOfFact strongest;
  for (const Fact& fact : e.facts) {
    if (fact.section != first.section || fact.item != first.item) continue;
    if (const EffectOfFact effect = FindEffect(fact); effect.effect < strongest.effect) strongest = effect;
  }
  return strongest;
}

bool HasSection(const Environment& e, std::string_view section) {
  return std::any_of(e.facts.begin(), e.facts.end(), [&](const Fact& f) { return f.section == section; });
}

// A section that one side has and the other was not asked for.
void AddMissingSection(const Environment& e, std::string_view section, bool in_a, EnvironmentDiff* diff) {
  FactDifference d;
  d.path = section;
  int64_t count = 0;
  for (const Fact& fact : e.facts) {
    if (fact.section != section) continue;
    ++count;
    d.effect = std::min(d.effect, FindEffect(fact).effect);
  }
  if (d.effect != Effect::kRecorded) d.reason = kOneSide;
  d.in_a = in_a, d.in_b = !in_a;
  (in_a ? d.a : d.b) = StrCat(count, count == 1 ? " fact" : " facts");
  diff->differences.push_back(std::move(d));
}

// Facts of `e` that `other` lacks. An item that it lacks altogether is one difference, and so is a section
// that is there only when somebody asks for it.
void AddMissing(const Environment& e, const Environment& other, bool in_a, EnvironmentDiff* diff) {
  std::set<std::pair<std::string, std::string>> items;
  std::set<std::string_view> sections;
  for (const std::string_view section : {"tools", "frameworks", "libraries", "digests"}) {
    if (!HasSection(e, section) || HasSection(other, section)) continue;
    sections.insert(section);
    AddMissingSection(e, section, in_a, diff);
  }
  for (const Fact& fact : e.facts) {
    if (sections.count(fact.section) > 0) continue;
    if (other.Find(fact.section, fact.item, fact.name) != nullptr) continue;
    const bool whole = !fact.item.empty() && !HasItem(other, fact);
    if (whole && !items.emplace(fact.section, fact.item).second) continue;
    const EffectOfFact effect = whole ? EffectOfItem(e, fact) : FindEffect(fact);
    FactDifference d;
    d.path = whole ? StrCat(fact.section, ".", fact.item) : fact.Path();
    d.effect = effect.effect;
    // A variable that is not set is known to be so.
    d.reason = d.effect == Effect::kRecorded ? ""
               : fact.section == "variables" ? std::string(effect.reason)
                                             : StrCat(effect.reason, "; ", kOneSide);
    d.in_a = in_a, d.in_b = !in_a;
    (in_a ? d.a : d.b) = whole ? Summary(e, fact) : FactText(fact.value);
    diff->differences.push_back(std::move(d));
  }
}

}  // namespace

std::string_view EffectName(Effect effect) {
  constexpr std::string_view kNames[] = {"numbers", "speed", "recorded"};
  return kNames[static_cast<int>(effect)];
}

EnvironmentDiff Diff(const Environment& a, const Environment& b) {
  EnvironmentDiff diff;
  for (const Fact& fact : a.facts) {
    const Fact* other = b.Find(fact.section, fact.item, fact.name);
    if (other == nullptr) continue;
    if (other->value == fact.value) {
      ++diff.same;
      continue;
    }
    const EffectOfFact effect = FindEffect(fact);
    diff.differences.push_back({fact.Path(), effect.effect, std::string(effect.reason), true, true,
                                FactText(fact.value), FactText(other->value)});
  }
  AddMissing(a, b, true, &diff);
  AddMissing(b, a, false, &diff);
  std::stable_sort(diff.differences.begin(), diff.differences.end(),
                   [](const FactDifference& x, const FactDifference& y) { return x.effect < y.effect; });
  return diff;
}

}  // namespace plinth::evidence
