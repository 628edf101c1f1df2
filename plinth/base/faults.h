// Lets a test make the Nth system call of one kind fail; costs one thread-local load when off.
#pragma once

#include <cerrno>

namespace plinth {

// The calls that go through this seam.
enum class Syscall { kOpen, kRead, kWrite, kFsync, kRename, kMmap };

// While alive, the `nth` call (from 1) of kind `call` on this thread fails with errno `error`; the
// calls before and after it are made as usual. One at a time per thread.
class ScopedFault {
 public:
  ScopedFault(Syscall call, int nth, int error);
  ~ScopedFault();
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;

  // Whether the call that had to fail was reached.
  bool fired() const { return seen_ >= nth_; }

 private:
  friend bool FaultDue(Syscall call);
  bool Count(Syscall call);

  Syscall call_;
  int nth_;
  int error_;
  int seen_ = 0;
};

namespace faults_internal {
extern constinit thread_local ScopedFault* active;
}

// Called just before the system call: true means "do not make it, it failed"; errno is then set.
inline bool FaultDue(Syscall call) {
  ScopedFault* fault = faults_internal::active;
  return fault != nullptr && fault->Count(call);
}

}  // namespace plinth
