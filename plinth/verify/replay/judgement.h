// Holds a recorded output against the reference: element by element, and as a whole.
#pragma once

#include <cstdint>
#include <string>

#include "plinth/base/threads.h"
#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

// What the elements of one output say, summed in double. Errors are recorded minus truth, over elements where
// both are finite.
struct WayStats {
  int64_t judged = 0, finite = 0;
  int64_t outside = 0;    // elements beyond their limit, structure included
  int64_t structure = 0;  // of these: NaN or infinity on one side only
  int64_t wrong = 0;      // of these: refused by the reference itself, such as an index out of range
  double max_abs = 0, max_ulp = 0, max_truth = 0;
  double worst_share = 0, limit = 0, worst_is = 0, worst_truth = 0;
  int64_t worst = -1;
  double sum_error = 0, sum_error2 = 0, sum_truth2 = 0, sum_shrink = 0, sum_shrink2 = 0, sum_level2 = 0;
  int64_t first_problem = -1;
  std::string problem;  // of the first element that breaks structure or the reference's own rule

  void Merge(const WayStats& other);
  double rmse() const;
  double rel_l2() const;
  double rms_truth() const;
  double mean_error() const;
  // Relative error along the truth: -1e-4 where all results are that much too small.
  double shrink() const;
  // What of sum_error2 is left once the results are scaled by 1 / (1 + shrink).
  double residual() const;
  // The level line's limit for rmse().
  double level() const;
};

// How much is recomputed.
struct ReplayBudget {
  double flops =
      2e10;  // per output; beyond, a seeded choice of pieces is taken, the first and the last included
  uint64_t seed = 0;
};

struct Way {
  WayStats stats;
  JudgeLine line;
  int64_t elements = 0;  // of the output; stats.judged of them were recomputed
  bool sampled() const { return stats.judged < elements; }
  bool structure_holds = false, cap_holds = false, level_holds = false, shrinks = false;
  bool holds() const { return structure_holds && cap_holds && level_holds && !shrinks; }
  std::string problem;  // one sentence, where it does not hold
};

// Recomputes `output` and judges it. `arithmetic` is what the operator may use.
Way Judge(const Reference& reference, const Values& output, const Arithmetic& arithmetic,
          const ReplayBudget& budget, Threads& threads);

}  // namespace plinth::verify::replay
