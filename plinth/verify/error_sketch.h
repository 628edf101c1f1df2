// Lends the tables in which the comparing pass sorts relative errors, and reads what stands in them.
#pragma once

#include <cstdint>
#include <vector>

#include "plinth/verify/difference_kernel.h"

namespace plinth::verify {

// A table of ErrorSketch::kCounts zeros, mostly untouched pages. Tables are kept for the next one who asks,
// as fresh pages cost more than many a tensor. May be called from any thread. Throws std::bad_alloc.
uint64_t* TakeSketchTable();
// Takes a table back and clears the rows that were touched.
void GiveBackSketchTable(const ErrorSketch& sketch);

// Errors divided by max(|a|, floor): the middle of a bin, its lower edge, how many.
struct ErrorGroup {
  double value, at_least;
  int64_t count;
};

// Appends the groups of one worker's sketch, whose first row has the exponent `base`, now that the floor is
// known; gives the largest relative error. A floor of zero makes every error where a is zero infinite.
double ReadSketch(const ErrorSketch& sketch, int base, double floor, std::vector<ErrorGroup>* groups);

}  // namespace plinth::verify
