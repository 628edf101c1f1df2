// Says what an acceptance asks, so that a later one can be held against it.
#pragma once

#include <vector>

#include "plinth/accept/recipe.h"
#include "plinth/accept/subject.h"
#include "plinth/evidence/unit.h"

namespace plinth::accept {

// Everything that decides how much a pass is worth, by digest or number: rules, inputs, golden cases, sizes,
// repeats, bands, required samples, contract lines, the incumbent's captures, truth and speed. Taken before
// the first step, so that what is signed is what was there then. Errors: FileError; InvalidArgument for bands
// that cannot be read.
StatusOr<std::vector<evidence::AskedItem>> WhatIsAsked(const Recipe& recipe, const Subject& subject);

}  // namespace plinth::accept
