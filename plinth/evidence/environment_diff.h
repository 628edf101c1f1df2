// Says in what two environments differ, and which differences can change numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/evidence/environment.h"

namespace plinth::evidence {

// What a change of a fact can do to a run.
enum class Effect : uint8_t { kNumbers, kSpeed, kRecorded };
std::string_view EffectName(Effect effect);  // "numbers", "speed", "recorded"

struct FactDifference {
  std::string path;  // as Fact::Path
  Effect effect = Effect::kRecorded;
  std::string reason;             // why it can change numbers or speed; empty for kRecorded
  bool in_a = true, in_b = true;  // whether it is known there
  std::string a, b;               // values as text; empty where it is unknown
};

struct EnvironmentDiff {
  std::vector<FactDifference> differences;  // numbers first, then speed, then what is only recorded
  int64_t same = 0;                         // facts with the same value on both sides

  bool CanChangeNumbers() const { return !differences.empty() && differences[0].effect == Effect::kNumbers; }
};

// Compares fact by fact; sources and findings are not compared. A fact that is known on one side only is a
// difference: it cannot be called equal.
EnvironmentDiff Diff(const Environment& a, const Environment& b);

// What a change of this fact can do, with the reason.
struct EffectOfFact {
  Effect effect = Effect::kRecorded;
  std::string_view reason;
};
EffectOfFact FindEffect(const Fact& fact);

}  // namespace plinth::evidence
