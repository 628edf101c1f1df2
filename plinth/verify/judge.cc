#include "plinth/verify/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace plinth::verify {
namespace {

using ops::OpChecks;
using ops::RefTensor;

bool Finite(const RefTensor& t) {
  return std::all_of(t.data.begin(), t.data.end(), [](double x) { return std::isfinite(x); });
}

double LimitOf(const OpCase& c, size_t port, size_t i) {
  return c.limits[port].empty() ? 0 : c.limits[port][i];
}

// One way to spoil a result. Returns false where it does not apply to this output.
struct Fault {
  const char* name;
  bool required;  // must apply to at least one output of the operator's case
  bool (*plant)(const OpCase& c, OpRun& run, size_t port);
};

// Puts the nearest value outside the limit into element i.
bool Displace(const OpCase& c, OpRun& run, size_t port, size_t i) {
  const View& v = run.results[port];
  const double r = c.io.out[port].data[i];
  const double limit = LimitOf(c, port, i);
  void* at = run.outputs[port].element(static_cast<int64_t>(i));
  for (double step = std::max(2 * limit, ops::Ulp(v.dtype, r)); std::isfinite(step); step *= 2) {
    for (double sign : {1.0, -1.0}) {
      StoreElement(v.dtype, at, r + sign * step);
      const double now = LoadElement(v.dtype, at);
      if (std::isfinite(now) && std::abs(now - ops::RoundTo(v.dtype, r)) > limit &&
          std::abs(now - r) > limit) {
        return true;
      }
    }
  }
  return false;
}

bool DisplaceFirst(const OpCase& c, OpRun& run, size_t port) { return Displace(c, run, port, 0); }
bool DisplaceLast(const OpCase& c, OpRun& run, size_t port) {
  return Displace(c, run, port, c.io.out[port].data.size() - 1);
}

bool Unwrite(const OpCase& c, OpRun& run, size_t port) {
  const View& v = run.results[port];
  std::memset(run.outputs[port].element(v.size() - 1), c.prefill[port], static_cast<size_t>(SizeOf(v.dtype)));
  return true;
}

bool WriteAfter(const OpCase&, OpRun& run, size_t port) {
  auto* end = static_cast<std::byte*>(run.outputs[port].element(run.results[port].size()));
  *end ^= std::byte{1};
  return true;
}
bool WriteBefore(const OpCase&, OpRun& run, size_t port) {
  auto* start = static_cast<std::byte*>(run.outputs[port].view().data);
  start[-1] ^= std::byte{1};
  return true;
}

bool Replace(OpRun& run, size_t port, double value) {
  const View& v = run.results[port];
  if (!IsFloat(v.dtype)) return false;
  StoreElement(v.dtype, run.outputs[port].element(v.size() / 2), value);
  return true;
}
bool PutNan(const OpCase&, OpRun& run, size_t port) { return Replace(run, port, NAN); }
bool PutInfinity(const OpCase&, OpRun& run, size_t port) { return Replace(run, port, INFINITY); }

bool SwapRows(const OpCase& c, OpRun& run, size_t port) {
  const View& v = run.results[port];
  if (v.rank < 2 || v.rows() < 2) return false;
  const auto n = static_cast<size_t>(v.last());
  const auto& r = c.io.out[port].data;
  const size_t other = r.size() - n;
  bool visible = false;
  for (size_t i = 0; i < n; ++i) {
    const double a = ops::RoundTo(v.dtype, r[i]), b = ops::RoundTo(v.dtype, r[other + i]);
    visible = visible || std::abs(b - r[i]) > LimitOf(c, port, i) + ops::Ulp(v.dtype, r[i]);
    StoreElement(v.dtype, run.outputs[port].element(static_cast<int64_t>(i)), b);
    StoreElement(v.dtype, run.outputs[port].element(static_cast<int64_t>(other + i)), a);
  }
  return visible;
}

bool LoseSign(const OpCase& c, OpRun& run, size_t port) {
  const View& v = run.results[port];
  if (!IsFloat(v.dtype) || (!c.limits[port].empty() && !c.checks->tolerance.signed_zero)) return false;
  const auto& r = c.io.out[port].data;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r[i] != 0) continue;
    StoreElement(v.dtype, run.outputs[port].element(static_cast<int64_t>(i)),
                 std::signbit(r[i]) ? 0.0 : -0.0);
    return true;
  }
  return false;
}

bool ChangeInput(const OpCase&, OpRun& run, size_t) {
  for (Placed& in : run.inputs) {
    if (in.view().data == nullptr || in.view().size() == 0) continue;
    *static_cast<std::byte*>(in.view().data) ^= std::byte{1};
    return true;
  }
  return false;
}

constexpr Fault kFaults[] = {
    {"the first element off by twice its limit", true, DisplaceFirst},
    {"the last element off by twice its limit", true, DisplaceLast},
    {"an element left unwritten", true, Unwrite},
    {"a byte written after the output", true, WriteAfter},
    {"a byte written before the output", true, WriteBefore},
    {"NaN in place of a number", false, PutNan},
    {"infinity in place of a number", false, PutInfinity},
    {"two rows swapped", false, SwapRows},
    {"the sign of a zero lost", false, LoseSign},
    {"a changed input", false, ChangeInput},
};

bool Noticed(const OpCase& c, OpRun& run, size_t port) {
  Inspect(run, -1);
  return !run.damage.empty() || !JudgeOutput(c, run, port).ok();
}

// Faults are planted where every output is finite and has two elements at least.
bool Suits(const OpCase& c) {
  for (const RefTensor& out : c.io.out) {
    if (out.size() < 2 || !Finite(out)) return false;
  }
  return c.definition.fault.empty() && !c.io.out.empty();
}

std::string TestOn(const OpCase& c) {
  const OpRun perfect = PerfectRun(c);
  for (size_t port = 0; port < c.io.out.size(); ++port) {
    if (Comparison judged = JudgeOutput(c, perfect, port); !judged.ok()) {
      return StrCat("case ", c.definition.name, ": the reference itself, rounded once, fails: ",
                    judged.bad_limits.empty() ? judged.problem : judged.bad_limits);
    }
  }
  for (const Fault& fault : kFaults) {
    bool planted = false;
    for (size_t port = 0; port < c.io.out.size(); ++port) {
      OpRun run = PerfectRun(c);
      if (!fault.plant(c, run, port)) continue;
      planted = true;
      if (!Noticed(c, run, port)) {
        return StrCat("case ", c.definition.name, ": did not notice ", fault.name, " in output ", port);
      }
    }
    if (fault.required && !planted) {
      return StrCat("case ", c.definition.name, ": could not plant ", fault.name);
    }
  }
  return "";
}

}  // namespace

Comparison JudgeOutput(const OpCase& c, const OpRun& run, size_t port) {
  CompareRules rules;
  if (!c.limits[port].empty()) rules.limits = &c.limits[port];
  rules.signed_zero = c.checks->tolerance.signed_zero;
  // Memory taken over from an input was not pre-filled.
  if (run.results[port].data == run.outputs[port].view().data) rules.prefill = c.prefill[port];
  return Compare(run.results[port], c.io.out[port], rules);
}

OpRun PerfectRun(const OpCase& c) {
  OpRun run;
  for (size_t i = 0; i < c.io.in.size(); ++i) {
    run.inputs.emplace_back();
    if (c.call.has(i)) run.inputs[i] = Placed(c.call.in(i).dtype, c.io.in[i], ops::Place::kDense, 0xff);
  }
  for (size_t port = 0; port < c.io.out.size(); ++port) {
    run.outputs.emplace_back(c.call.outputs[port].dtype, c.io.out[port], ops::Place::kDense, 0xa5);
    run.results.push_back(run.outputs[port].view());
  }
  return run;
}

std::string SelfTest(const OpChecks& checks, uint64_t seed) {
  for (const ops::Case& definition : checks.cases()) {
    if (definition.tier != ops::Tier::kSmoke || !definition.fault.empty()) continue;
    StatusOr<OpCase> c = MakeOpCase(checks, definition, seed);
    if (c.ok() && Suits(*c)) return TestOn(*c);
  }
  return "no smoke case has finite outputs of two elements or more to plant faults in";
}

}  // namespace plinth::verify
