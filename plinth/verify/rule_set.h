// Holds the acceptance's rule set as data: what rules.toml says, checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::verify {

// The columns of the rule set. 8-bit floats and booleans are judged in kInt.
enum class NumberType : uint8_t { kF64, kF32, kTf32, kF16, kBF16, kInt };
inline constexpr int kNumberTypes = 6;
// "f64", "f32", "tf32", "f16", "bf16", "int".
std::string_view NumberTypeName(NumberType type);
// The column of a stored type: "f32", "bf16", "i64", "u8", "bool", "f8_e4m3" ...; nullopt for another name.
std::optional<NumberType> NumberTypeOf(std::string_view dtype);

// The constants of a floating type; see the file for their meaning.
struct TypeNumbers {
  double u_out = 0, u_acc = 0, u_in = 0, smallest = 0, m = 1;
};

enum class LimitKind : uint8_t {
  kUndefined,     // no limit is known
  kBitwise,       // the truth rounded once, bit by bit
  kUlp,           // `most` units in the last place, `relaxed` for operators of the relaxed list
  kRelativeL2,    // fixed + grown sqrt(K)
  kLsb,           // whole numbers: `most` apart, at most `share` of them
  kCodes,         // 8-bit floats: likewise in codes
  kDistribution,  // two samples of one distribution
};

struct Limit {
  LimitKind kind = LimitKind::kUndefined;
  double most = 0, relaxed = 0, fixed = 0, grown = 0, share = 0;
  double row_sum = 0;  // how far a row of a softmax may sum from 1; 0: not asked
};

// g(K); the file says what each stands for.
enum class Growth : uint8_t { kNone, kSqrt, kSoftmax, kNorm, kContributions, kRanks };

struct RuleClass {
  std::string name, title;
  Growth growth = Growth::kNone;
  bool band_required = false;                   // without a band it cannot pass
  bool identical_ranks = false;                 // all ranks hold the same bits
  std::vector<std::string> operators, relaxed;  // names; both belong to the class
  std::array<Limit, kNumberTypes> limits;

  const Limit& limit(NumberType type) const { return limits[static_cast<size_t>(type)]; }
  bool Relaxed(std::string_view op) const;
};

// What turns broken rules into a warning instead of a failure: exactly `broken` are, and `holds` hold.
struct Softening {
  std::vector<int> broken, holds;
  std::string reason;
};

class RuleSet {
 public:
  // Tensors of fewer than `below` elements are allowed more; in ascending order, the first that fits counts.
  struct Raise {
    int64_t below = 0;
    double factor = 0;
  };

  // `where` begins every message. Errors: InvalidArgument with file and line for bad syntax, unknown keys,
  // missing classes, types or numbers, negative and non-finite numbers, an operator in two classes.
  static StatusOr<RuleSet> Parse(std::string_view text, std::string where);
  // Errors: FileError; as Parse.
  static StatusOr<RuleSet> Load(const std::string& path);
  // The one that the program carries. Error: Unavailable without SHA-256.
  static StatusOr<RuleSet> Builtin();
  // Its text, as shipped in cases/rules.toml.
  static std::string_view BuiltinText();

  // sha256 of the text it was read from, 64 hex digits.
  const std::string& digest() const { return digest_; }
  const std::string& where() const { return where_; }

  const TypeNumbers& type(NumberType type) const { return types[static_cast<size_t>(type)]; }
  // Null where there is none of that name.
  const RuleClass* Find(std::string_view name) const;
  // Never null: the class that lists `op` ("linear", "softmax"), else the default class.
  const RuleClass& ClassOf(std::string_view op) const;
  // The factor of the first raise that a tensor of `elements` is below, else `otherwise`.
  static double Raised(const std::vector<Raise>& raises, int64_t elements, double otherwise);

  // Rule 1.
  double subnormal_drop = 0;
  int64_t subnormal_least = 0;
  // Rule 2.
  double lambda = 0, assumed_terms = 0, estimated_scale = 0;
  std::vector<Raise> cap_raises;  // multiplies the class's relative limit
  // Rule 3.
  std::vector<Raise> m_raises;  // the least m
  double max_ratio = 0, rms_floor = 0, max_floor = 0, bias_sigmas = 0;
  // Rule 4.
  double noise_factor = 0;
  // Class K.
  double ks = 0, z = 0;

  std::string default_class;
  std::array<TypeNumbers, kNumberTypes> types;  // kInt's is unused
  std::vector<RuleClass> classes;               // in the order of the file
  std::vector<Softening> softenings;

 private:
  std::string digest_, where_;
};

// The classes that a rule set must have.
const std::vector<std::string>& ClassNames();

}  // namespace plinth::verify
