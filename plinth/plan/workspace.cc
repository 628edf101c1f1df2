#include <time.h>

#include <algorithm>

#include "plinth/plan/plan.h"

namespace plinth::plan {
namespace {

// A step below this estimate runs on the calling thread: waking others costs about as much.
constexpr double kSerialSeconds = 20e-6;
constexpr double kFlopsPerSecond = 50e9, kBytesPerSecond = 10e9;  // one core, cautious

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

StatusOr<std::unique_ptr<Workspace>> Workspace::Make(std::shared_ptr<const Plan> plan, int workers) {
  PLINTH_CHECK_LE(1, workers);
  auto workspace = std::unique_ptr<Workspace>(new Workspace);
  Workspace& w = *workspace;
  w.plan_ = std::move(plan);
  w.workers_ = workers;
  w.arena_ = AllocateAligned(w.plan_->arena_bytes_);
  w.scratch_ = AllocateAligned(w.plan_->scratch_bytes_ * workers);
  if (w.arena_ == nullptr || w.scratch_ == nullptr) {
    return absl::ResourceExhaustedError(StrCat("no memory for an arena of ", w.plan_->arena_bytes_,
                                               " bytes and scratch of ", w.plan_->scratch_bytes_,
                                               " bytes for ", workers, " threads"));
  }
  w.views_.resize(w.plan_->values_.size());
  size_t offset = 0;
  for (const Plan::Step& step : w.plan_->steps_) {
    w.step_offsets_.push_back(offset);
    offset += step.in.size() + step.out.size();
  }
  w.step_views_.resize(offset);
  w.step_serial_.resize(w.plan_->steps_.size());
  w.faults_.resize(static_cast<size_t>(workers));
  if (w.plan_->profile_) w.seconds_.resize(w.plan_->steps_.size());
  w.extents_ = w.plan_->capacity_;
  w.UpdateViews();
  return workspace;
}

Status Workspace::SetExtents(absl::Span<const int64_t> extents) {
  const Plan& plan = *plan_;
  PLINTH_CHECK_EQ(extents.size(), plan.capacity_.size());
  if (std::equal(extents.begin(), extents.end(), extents_.begin())) return absl::OkStatus();
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 0 || extents[i] > plan.capacity_[i]) {
      return absl::OutOfRangeError(StrCat("dimension \"", plan.dimensions_[i], "\" has extent ", extents[i],
                                          "; this plan holds 0 to ", plan.capacity_[i]));
    }
  }
  std::copy(extents.begin(), extents.end(), extents_.begin());
  UpdateViews();
  return absl::OkStatus();
}

void Workspace::UpdateViews() {
  const Plan& plan = *plan_;
  for (size_t v = 0; v < views_.size(); ++v) {
    const Plan::PlannedValue& value = plan.values_[v];
    views_[v] = plan.ViewAt(value, extents_);
    if (value.offset >= 0) views_[v].data = arena_.get() + value.offset;
  }
  for (const int v : plan.view_order_) {
    const Plan::PlannedValue& value = plan.values_[static_cast<size_t>(v)];
    const ops::OpCall& call = plan.views_[static_cast<size_t>(value.alias_step)];
    const bool possible =
        call.spec->view(call, views_[static_cast<size_t>(value.alias_of)], &views_[static_cast<size_t>(v)]);
    PLINTH_CHECK(possible);
  }
  for (size_t s = 0; s < plan.steps_.size(); ++s) {
    const Plan::Step& step = plan.steps_[s];
    View* const in = step_views_.data() + step_offsets_[s];
    View* const out = in + step.in.size();
    for (size_t i = 0; i < step.in.size(); ++i) {
      in[i] = step.in[i] < 0 ? View{} : views_[static_cast<size_t>(step.in[i])];
    }
    for (size_t i = 0; i < step.out.size(); ++i) out[i] = views_[static_cast<size_t>(step.out[i])];
    const ops::OpCall& call = step.op.call();
    const ops::Cost cost = call.spec->cost(call, {in, step.in.size()}, {out, step.out.size()});
    step_serial_[s] = cost.flops / kFlopsPerSecond + cost.bytes / kBytesPerSecond < kSerialSeconds;
  }
}

void Workspace::RunStep(size_t s, Threads* threads) {
  const Plan::Step& step = plan_->steps_[s];
  const View* in = step_views_.data() + step_offsets_[s];
  const View* out = in + step.in.size();
  const int64_t pieces = step.op.Pieces(in, out);
  const int64_t most = threads == nullptr ? 1 : std::min(threads->count(), workers_);
  if (most == 1 || pieces <= 1 || step_serial_[s]) {
    step.op.Run(in, out, 0, pieces, scratch_.get(), &faults_[0]);
    return;
  }
  // More pieces than threads, so that a busy core delays the step by little.
  const int64_t tasks = std::min(pieces, 4 * most);
  threads->For(tasks, [&](int64_t task, int worker) {
    const int64_t begin = pieces * task / tasks, end = pieces * (task + 1) / tasks;
    std::byte* scratch = scratch_.get() + plan_->scratch_bytes_ * worker;
    step.op.Run(in, out, begin, end, scratch, &faults_[static_cast<size_t>(worker)]);
  });
}

Status Workspace::RunSteps(size_t begin, size_t end, Threads* threads, StopCheck cancelled) {
  PLINTH_CHECK_LE(end, plan_->steps_.size());
  if (threads != nullptr) PLINTH_CHECK_LE(threads->count(), workers_);
  for (size_t s = begin; s < end; ++s) {
    if (cancelled()) return absl::CancelledError("interrupted");
    if (plan_->profile_) {
      const double start = Now();
      RunStep(s, threads);
      seconds_[s] = Now() - start;
    } else {
      RunStep(s, threads);
    }
    for (ops::KernelFault& fault : faults_) {
      if (fault.what == nullptr) continue;
      const Status status = ops::ToStatus(*plan_->steps_[s].op.call().spec, fault);
      for (ops::KernelFault& f : faults_) f = {};
      return Prepend(status, plan_->steps_[s].scope);
    }
  }
  return absl::OkStatus();
}

}  // namespace plinth::plan
