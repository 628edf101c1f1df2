#include "plinth/base/faults.h"

#include "plinth/base/check.h"

namespace plinth {

namespace faults_internal {
constinit thread_local ScopedFault* active = nullptr;
}

ScopedFault::ScopedFault(Syscall call, int nth, int error) : call_(call), nth_(nth), error_(error) {
  PLINTH_CHECK_LE(1, nth);
  PLINTH_CHECK(faults_internal::active == nullptr);
  faults_internal::active = this;
}

ScopedFault::~ScopedFault() { faults_internal::active = nullptr; }

bool ScopedFault::Count(Syscall call) {
  if (call != call_ || ++seen_ != nth_) return false;
  errno = error_;
  return true;
}

}  // namespace plinth
