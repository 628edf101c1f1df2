// Names the kind of fault behind a difference: lanes, rows, scale, layout, precision, flushed subnormals,
// stale data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/verify/difference.h"

namespace plinth::verify {

// One named kind of fault. Ids are stable:
//   not-finite   NaN or infinities on one side only     unwritten   the fill pattern of fresh memory is left
//   all-zero, constant, zeros   the candidate holds too many zeros, or one value
//   subnormals   flushed to zero                        stale       equals another entry of the reference
//   rows-permuted, transposed, shifted                  the right values in the wrong place
//   scale, offset                                       a factor or a constant explains the error
//   lanes, last-rows, rows, columns, spikes             where the error sits
//   precision    computed in a narrower format than the type says
//   bias         errors lean to one side
//   level, unrelated   nothing of these: errors everywhere, or nothing left of the reference
struct Finding {
  std::string id;
  std::string text;  // a sentence without a full stop: "lanes 32..63 differ"
};

struct DiagnosisHints {
  // The relative L2 error that would be fine; 0: the default of the coarser type (see comparison_line.h).
  double limit = 0;
  // The reference's entries that a stale buffer could still hold (the previous step, the previous operator).
  std::vector<formats::ConstTensorRef> earlier;
};

// What explains the difference of two tensors of one shape, the most telling first; empty where nothing known
// does. Takes tens of nanoseconds per element; layouts and rows are looked for in tensors of up to 2^26
// elements.
std::vector<Finding> Diagnose(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b,
                              const Difference& difference, const DiagnosisHints& hints = {});

}  // namespace plinth::verify
