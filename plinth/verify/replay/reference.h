// Recomputes one captured operator in double (long double where its output is f64), piece by piece, with the
// size of what rounding may do to each element.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/ops/checks.h"
#include "plinth/verify/replay/op_use.h"

namespace plinth::verify::replay {

// How an element of an output is judged. The limit of an element with truth r is
//   out_roundoffs * u_out |r| + out_ulps * ulp_out(r) + u_acc * slack + smallest normal number,
// where slack, from the reference, is lambda g(K) S of the acceptance's rules for the operator's class: S is
// summed from the captured inputs. Beside it stands the level line: the root mean square of all errors stays
// within that of
//   out_roundoffs * u_out |r| + out_ulps * ulp_out(r) / 2 + u_acc * spread,
// where spread is slack without the safety factor that single elements need.
struct JudgeLine {
  ops::ToleranceClass kind = ops::ToleranceClass::kExact;
  bool exact = false;      // the truth, rounded once, is the only right answer
  bool zero_sign = false;  // with `exact`: -0 and +0 differ
  double out_roundoffs = 1;
  double out_ulps = 0;
  int64_t depth = 0;  // K of the class
  // Sums and products: errors that shrink results betray accumulation that cuts off.
  bool watch_shrink = false;
};

// Receives the elements of one piece.
class TruthSink {
 public:
  virtual ~TruthSink() = default;
  virtual void Put(int64_t index, long double truth, double slack, double spread) = 0;
  // An element of which the reference itself says whether the recorded value is right: "" or what is wrong.
  virtual void Verdict(int64_t index, std::string wrong) = 0;
};

// One output of one use. Made for a candidate's inputs; the pieces may be computed at once by several
// threads.
class Reference {
 public:
  virtual ~Reference() = default;
  // Pieces, each of about `piece_flops` operations.
  virtual int64_t pieces() const = 0;
  virtual double piece_flops() const = 0;
  virtual void Compute(int64_t piece, TruthSink& sink) const = 0;
  JudgeLine line;
};

// What the arithmetic may do, from the output's type and the capture's declared precision.
struct Arithmetic {
  double accumulate = 0x1p-24;  // unit roundoff of accumulators
  double operand = 0;           // unit roundoff to which f32 operands of products are cut; 0: they are kept
  double partial = 0;  // unit roundoff that partial sums of a split product are rounded to; 0: they are not
  std::string name = "f32";
};

// The reference of output `port`, whose recorded shape and type it checks.
// Errors: Unimplemented for an operator that is not known; FailedPrecondition where an input was not
// recorded, or the operator is random; InvalidArgument where shapes or attributes contradict each other.
StatusOr<std::unique_ptr<Reference>> MakeReference(const OpUse& use, size_t port,
                                                   const Arithmetic& arithmetic);

// Whether there is a reference for operators of this name.
bool HasReference(std::string_view op);
// Whether docs/operators.md says how its inputs and attributes are written.
bool IsDocumented(std::string_view op);

// lambda g(K) of a sum of `terms` terms in any order: the probabilistic bound 6 sqrt(K), or K where it is
// smaller (Higham and Mary, "A new approach to probabilistic rounding error analysis", 2019).
double SumGrowth(int64_t terms);

// Whether two lists of dimensions are equal; else an InvalidArgument that names `what`.
Status ExpectDims(std::string_view what, const std::vector<int64_t>& found,
                  const std::vector<int64_t>& wanted);

}  // namespace plinth::verify::replay
