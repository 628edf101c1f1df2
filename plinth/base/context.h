// Carries what the engine needs from its surroundings, so that two engines live in one process.
#pragma once

#include <memory>

#include "plinth/base/cpu.h"
#include "plinth/base/threads.h"

namespace plinth {

// Passed in by whoever owns it; must outlive what was made with it.
struct Context {
  Threads* threads = nullptr;
  Isa isa = Isa::kV2;
};

}  // namespace plinth
