// Whether the same series give the same bits every time: repeats over everything that may vary, and the
// corners of the sizes that the evidence covers.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "plinth/accept/steps.h"
#include "plinth/base/digest.h"
#include "plinth/base/random.h"
#include "plinth/base/text.h"

namespace plinth::accept {
namespace {

using engine::Forecast;
using verify::CheckStatus;

// How a repeat differs from the run of all windows in one batch.
enum class Vary : uint8_t { kAlone, kReversed, kOneThread, kFresh, kShuffled };
constexpr std::string_view kVaryNames[] = {"each series alone", "reversed order", "one thread",
                                           "a fresh session", "random batches"};

class Repeats {
 public:
  explicit Repeats(Work& work) : work_(work) {
    request_.horizon = work.subject->inputs.horizon;
    request_.levels = work.session->model().info().levels;
  }

  // sha256 of the forecasts' bits, in the order of the windows.
  StatusOr<std::string> Run(engine::Session& session, const std::vector<size_t>& order,
                            const std::vector<size_t>& cuts) const {
    std::vector<Forecast> forecasts(order.size());
    for (size_t c = 0; c + 1 < cuts.size(); ++c) {
      std::vector<std::span<const double>> batch;
      for (size_t i = cuts[c]; i < cuts[c + 1]; ++i)
        batch.push_back(work_.subject->inputs.windows[order[i]].context);
      PLINTH_ASSIGN_OR_RETURN(std::vector<Forecast> some, session.Run(batch, request_));
      for (size_t i = 0; i < some.size(); ++i) forecasts[order[cuts[c] + i]] = std::move(some[i]);
    }
    Sha256 sha;
    for (const Forecast& f : forecasts) sha.Update(std::as_bytes(std::span(f.values)));
    return sha.Hex();
  }

  StatusOr<std::string> Baseline() const { return Run(*work_.session, Order(), {0, Order().size()}); }

  StatusOr<std::string> Repeat(int64_t number, Vary vary) const {
    std::vector<size_t> order = Order();
    std::vector<size_t> cuts = {0, order.size()};
    switch (vary) {
      case Vary::kAlone:
        cuts.resize(order.size() + 1);
        std::iota(cuts.begin(), cuts.end(), size_t{0});
        break;
      case Vary::kReversed:
        std::reverse(order.begin(), order.end());
        break;
      case Vary::kOneThread: {
        Threads one(1);
        return RunElsewhere({&one, work_.context->isa}, order, cuts);
      }
      case Vary::kFresh:
        return RunElsewhere(*work_.context, order, cuts);
      case Vary::kShuffled: {
        Random random(static_cast<uint64_t>(number));
        for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
        cuts = {0};
        while (cuts.back() < order.size()) {
          cuts.push_back(std::min(order.size(), cuts.back() + 1 + random.Below(order.size())));
        }
        break;
      }
    }
    return Run(*work_.session, order, cuts);
  }

 private:
  std::vector<size_t> Order() const {
    std::vector<size_t> order(work_.subject->inputs.windows.size());
    std::iota(order.begin(), order.end(), size_t{0});
    return order;
  }
  StatusOr<std::string> RunElsewhere(const Context& context, const std::vector<size_t>& order,
                                     const std::vector<size_t>& cuts) const {
    PLINTH_ASSIGN_OR_RETURN(const auto session, engine::Session::Load(work_.recipe->model, context));
    return Run(*session, order, cuts);
  }

  Work& work_;
  engine::ForecastRequest request_;
};

// One extreme of the sizes: the largest batch gives its first series the bits it has alone.
Status RunCorner(Work& work, int64_t batch, int64_t context, int64_t horizon, std::string* problem) {
  Random random(7);
  std::vector<std::vector<double>> series(static_cast<size_t>(batch));
  for (auto& s : series) {
    for (int64_t t = 0; t < context; ++t)
      s.push_back(std::sin(0.26 * static_cast<double>(t)) + 0.3 * random.Normal());
  }
  const std::vector<std::span<const double>> spans(series.begin(), series.end());
  const engine::ForecastRequest request{horizon, 0, work.session->model().info().levels};
  const auto together = work.session->Run(spans, request);
  if (!together.ok()) {
    if (absl::IsCancelled(together.status()) || absl::IsResourceExhausted(together.status()))
      return together.status();
    *problem = std::string(together.status().message());
    return absl::OkStatus();
  }
  for (const Forecast& f : *together) {
    if (std::any_of(f.values.begin(), f.values.end(), [](double x) { return !std::isfinite(x); })) {
      *problem = "a forecast is not finite";
    }
  }
  PLINTH_ASSIGN_OR_RETURN(const auto alone, work.session->Run(std::span(spans).first(1), request));
  const auto& a = alone[0].values;
  const auto& b = (*together)[0].values;
  if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) != 0) {
    *problem = "a series has other bits in the batch than alone";
  }
  return absl::OkStatus();
}

Status RunCorners(Work& work) {
  const Recipe::Sizes& sizes = work.recipe->envelope;
  int64_t ran = 0;
  for (const int64_t batch : {int64_t{1}, sizes.batch}) {
    for (const int64_t context : {int64_t{1}, sizes.context}) {
      for (const int64_t horizon : {int64_t{1}, sizes.horizon}) {
        PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
        std::string problem;
        PLINTH_RETURN_IF_ERROR(RunCorner(work, batch, context, horizon, &problem));
        ++ran;
        Record record;
        record.name = StrCat("corner: batch ", batch, ", context ", context, ", horizon ", horizon);
        record.status = problem.empty() ? CheckStatus::kPassed : CheckStatus::kFailed;
        record.detail = problem;
        work.Add(Ask::kRepeatability, std::move(record));
        if (!problem.empty()) {
          work.SayWrong(Ask::kRepeatability, Message::kCornerFailed,
                        {StrCat(batch), StrCat(context), StrCat(horizon), problem});
        }
      }
    }
  }
  work.Say(Ask::kRepeatability, Message::kCornersRun,
           {StrCat(ran), StrCat(sizes.batch), StrCat(sizes.context), StrCat(sizes.horizon)});
  return absl::OkStatus();
}

}  // namespace

Status CheckModelRepeats(Work& work) {
  const Repeats repeats(work);
  PLINTH_ASSIGN_OR_RETURN(const std::string expected, repeats.Baseline());
  int64_t bad = 0;
  std::string first_bad;
  for (int64_t r = 1; r <= work.recipe->repeats; ++r) {
    PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
    const auto vary = static_cast<Vary>((r - 1) % static_cast<int64_t>(std::size(kVaryNames)));
    const std::string name = StrCat("repeat ", r, ": ", kVaryNames[static_cast<size_t>(vary)]);
    work.Tell(StrCat("repeat ", r, " of ", work.recipe->repeats));
    std::string digest;
    Record record;
    if (const std::string* known = work.journal->Find(name)) {
      digest = *known;
      record.resumed = true;
    } else {
      PLINTH_ASSIGN_OR_RETURN(digest, repeats.Repeat(r, vary));
      PLINTH_RETURN_IF_ERROR(work.journal->Add(name, digest));
    }
    const bool same = digest == expected;
    if (!same && bad++ == 0) first_bad = name;
    record.name = name;
    record.status = same ? CheckStatus::kPassed : CheckStatus::kFailed;
    record.detail = same ? "the same bits" : "other bits than one batch of all windows";
    work.Add(Ask::kRepeatability, std::move(record));
  }
  if (bad > 0) {
    work.SayWrong(Ask::kRepeatability, Message::kRepeatsDiffer,
                  {StrCat(bad), StrCat(work.recipe->repeats), first_bad});
  } else {
    work.Say(Ask::kRepeatability, Message::kRepeatsSame, {StrCat(work.recipe->repeats)});
  }
  return RunCorners(work);
}

}  // namespace plinth::accept
