// What picks one of several values for each element: where, masked_fill, minimum, maximum, clamp, gather,
// largest and smallest of rows, stack, repeat_interleave, max pooling, and dropout where it does nothing.
// Class A.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "plinth/verify/replay/broadcast.h"
#include "plinth/verify/replay/factories.h"
#include "plinth/verify/replay/reduced.h"
#include "plinth/verify/replay/window.h"

namespace plinth::verify::replay {
namespace {

constexpr int64_t kPiece = 1 << 15;

// Each element by itself, as `element` puts it.
class Chosen final : public Reference {
 public:
  using Element = std::function<void(int64_t i, TruthSink& sink)>;
  Chosen(int64_t size, double work, Element element)
      : size_(size), work_(work), element_(std::move(element)) {
    line = {.kind = ops::ToleranceClass::kExact, .exact = true};
  }
  int64_t pieces() const override { return (size_ + kPiece - 1) / kPiece; }
  double piece_flops() const override { return work_ * kPiece; }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(size_, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) element_(i, sink);
  }

 private:
  int64_t size_;
  double work_;
  Element element_;
};

// Integers as they are: 64 bits fit.
long double Load(const Values& v, int64_t i) {
  return v.format().floating ? static_cast<long double>(v[i]) : static_cast<long double>(v.integer(i));
}

// A number; infinities and NaN are written as texts. nullopt: it is not given.
StatusOr<std::optional<double>> NumberOf(const OpUse& use, std::string_view name) {
  const formats::JsonValue* value = use.Find(name);
  if (value == nullptr) return std::optional<double>();
  if (value->flag() != nullptr) return std::optional<double>(*value->flag() ? 1 : 0);
  if (value->text() != nullptr) {
    const std::string& text = *value->text();
    if (text == "inf") return std::optional<double>(std::numeric_limits<double>::infinity());
    if (text == "-inf") return std::optional<double>(-std::numeric_limits<double>::infinity());
    if (text == "nan") return std::optional<double>(std::nan(""));
  }
  PLINTH_ASSIGN_OR_RETURN(const double number, use.Real(name, 0));
  return std::optional<double>(number);
}

// A tensor that is broadcast, or a number.
struct Source {
  const Values* values = nullptr;
  Broadcast at;
  double number = 0;
  long double operator()(int64_t i) const {
    return values == nullptr ? static_cast<long double>(number) : Load(*values, at(i));
  }
};

StatusOr<Source> SourceOf(const OpUse& use, size_t port, std::string_view name,
                          const std::vector<int64_t>& dims) {
  Source source;
  if (use.has(port)) {
    PLINTH_RETURN_IF_ERROR(use.Need(port, name));
    source.values = &use.in(port);
    PLINTH_ASSIGN_OR_RETURN(source.at, Broadcast::Make(use.in(port).dims(), dims));
    return source;
  }
  PLINTH_ASSIGN_OR_RETURN(const std::optional<double> number, NumberOf(use, name));
  if (!number.has_value()) {
    return absl::FailedPreconditionError(
        StrCat("neither input ", port, " nor the attribute \"", name, "\" was recorded"));
  }
  source.number = *number;
  return source;
}

// The common shape of all inputs that are there, which the output's must be.
StatusOr<std::vector<int64_t>> CommonDims(const OpUse& use, size_t port) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < use.inputs.size(); ++i) {
    if (!use.has(i)) continue;
    PLINTH_RETURN_IF_ERROR(use.Need(i, "an operand"));
    PLINTH_ASSIGN_OR_RETURN(dims, BroadcastDims(dims, use.in(i).dims()));
  }
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  return dims;
}

ReferenceOr Made(const OpUse& use, size_t port, double work, Chosen::Element element) {
  return ReferenceOr(std::make_unique<Chosen>(use.out(port).size(), work, std::move(element)));
}

// where: condition, x, y. masked_fill: x, mask, value.
ReferenceOr MakeWhere(const OpUse& use, size_t port) {
  const bool fill = use.op == "masked_fill";
  PLINTH_RETURN_IF_ERROR(use.Need(fill ? 1 : 0, fill ? "mask" : "condition"));
  PLINTH_ASSIGN_OR_RETURN(const auto dims, CommonDims(use, port));
  PLINTH_ASSIGN_OR_RETURN(const Source condition, SourceOf(use, fill ? 1 : 0, "condition", dims));
  PLINTH_ASSIGN_OR_RETURN(const Source yes,
                          fill ? SourceOf(use, 2, "value", dims) : SourceOf(use, 1, "x", dims));
  PLINTH_ASSIGN_OR_RETURN(const Source no, fill ? SourceOf(use, 0, "x", dims) : SourceOf(use, 2, "y", dims));
  return Made(use, port, 20,
              [=](int64_t i, TruthSink& sink) { sink.Put(i, condition(i) != 0 ? yes(i) : no(i), 0, 0); });
}

// NaN of either side stays.
ReferenceOr MakeExtreme(const OpUse& use, size_t port) {
  PLINTH_ASSIGN_OR_RETURN(const auto dims, CommonDims(use, port));
  PLINTH_ASSIGN_OR_RETURN(const Source a, SourceOf(use, 0, "x", dims));
  PLINTH_ASSIGN_OR_RETURN(const Source b, SourceOf(use, 1, "other", dims));
  const bool largest = use.op == "maximum";
  return Made(use, port, 20, [=](int64_t i, TruthSink& sink) {
    const long double x = a(i), y = b(i);
    sink.Put(i, std::isnan(x) || (!std::isnan(y) && (largest ? x > y : x < y)) ? x : y, 0, 0);
  });
}

ReferenceOr MakeClamp(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), use.in(0).dims()));
  PLINTH_ASSIGN_OR_RETURN(const auto low, NumberOf(use, "min"));
  PLINTH_ASSIGN_OR_RETURN(const auto high, NumberOf(use, "max"));
  if (!low.has_value() && !high.has_value()) {
    return absl::FailedPreconditionError("neither of its limits (attributes \"min\", \"max\") was recorded");
  }
  const Values& x = use.in(0);
  return Made(use, port, 10, [&x, low, high](int64_t i, TruthSink& sink) {
    long double y = Load(x, i);
    if (low.has_value() && y < *low) y = *low;
    if (high.has_value() && y > *high) y = *high;
    sink.Put(i, y, 0, 0);
  });
}

ReferenceOr MakeGather(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_RETURN_IF_ERROR(use.Need(1, "index"));
  if (!use.Has("dim"))
    return absl::FailedPreconditionError("along which axis it goes (attribute \"dim\") was not recorded");
  const Values &x = use.in(0), &index = use.in(1);
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", 0));
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, x.rank()));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), index.dims()));
  const auto a = static_cast<size_t>(axis);
  bool fits = index.rank() == x.rank();
  for (size_t d = 0; fits && d < x.rank(); ++d) fits = d == a || index.dims()[d] <= x.dims()[d];
  if (!fits) {
    return absl::InvalidArgumentError(
        StrCat("index is ", index.ToString(), " and x ", x.ToString(), "; index no larger than x is needed"));
  }
  return Made(use, port, 30, [&x, &index, a](int64_t i, TruthSink& sink) {
    const int64_t entries = x.rank() == 0 ? 1 : x.dims()[a], picked = index.index(i);
    if (picked < 0 || picked >= entries) {
      return sink.Verdict(i, StrCat("index ", picked, " at ", i, " is outside [0, ", entries, ")"));
    }
    int64_t at = 0, stride = 1, rest = i;
    for (size_t d = x.rank(); d-- > 0;) {
      const int64_t along = rest % index.dims()[d];
      rest /= index.dims()[d];
      at += (d == a ? picked : along) * stride;
      stride *= x.dims()[d];
    }
    sink.Put(i, Load(x, at), 0, 0);
  });
}

// max, min (values, then where they stand) and amax, amin.
ReferenceOr MakeLargest(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  PLINTH_ASSIGN_OR_RETURN(const Reduced r, ReducedBy(use, x));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), r.dims));
  if (r.terms == 0) return absl::InvalidArgumentError("x is empty along what is reduced");
  const bool largest = use.op == "max" || use.op == "amax";
  const auto best = [&x, r, largest](int64_t o) {
    long double found = Load(x, r.At(o, 0));
    for (int64_t t = 1; t < r.terms && !std::isnan(found); ++t) {
      const long double y = Load(x, r.At(o, t));
      if (std::isnan(y) || (largest ? y > found : y < found)) found = y;
    }
    return found;
  };
  const double work = 6.0 * static_cast<double>(r.terms);
  if (port == 0) {
    return Made(use, port, work, [best](int64_t o, TruthSink& sink) { sink.Put(o, best(o), 0, 0); });
  }
  const Values& index = use.out(port);
  return Made(use, port, work, [best, r, &x, &index](int64_t o, TruthSink& sink) {
    const int64_t at = index.index(o);
    if (at < 0 || at >= r.terms) {
      return sink.Verdict(o, StrCat("index ", at, " is outside [0, ", r.terms, ")"));
    }
    const long double is = Load(x, r.At(o, at)), want = best(o);
    const bool right = is == want || (std::isnan(is) && std::isnan(want));
    sink.Verdict(o, right ? "" : StrCat("index ", at, " is not where the value stands"));
  });
}

ReferenceOr MakeStack(const OpUse& use, size_t port) {
  if (!use.Has("dim"))
    return absl::FailedPreconditionError("along which axis it goes (attribute \"dim\") was not recorded");
  PLINTH_RETURN_IF_ERROR(use.Need(0, "a part"));
  std::vector<const Values*> parts;
  for (size_t i = 0; i < use.inputs.size(); ++i) {
    PLINTH_RETURN_IF_ERROR(use.Need(i, "a part"));
    PLINTH_RETURN_IF_ERROR(ExpectDims("a part", use.in(i).dims(), use.in(0).dims()));
    parts.push_back(&use.in(i));
  }
  std::vector<int64_t> dims = use.in(0).dims();
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", 0));
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, dims.size() + 1));
  const int64_t inner = ProductOf(dims, static_cast<size_t>(axis), dims.size());
  dims.insert(dims.begin() + axis, static_cast<int64_t>(parts.size()));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  return Made(use, port, 20, [parts, inner](int64_t i, TruthSink& sink) {
    const auto count = static_cast<int64_t>(parts.size());
    const Values& part = *parts[static_cast<size_t>(i / inner % count)];
    sink.Put(i, Load(part, i / inner / count * inner + i % inner), 0, 0);
  });
}

ReferenceOr MakeRepeat(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  if (!use.Has("repeats") || !use.Has("dim"))
    return absl::FailedPreconditionError(
        "how often and along which axis (\"repeats\", \"dim\") was not recorded");
  const Values& x = use.in(0);
  PLINTH_ASSIGN_OR_RETURN(const int64_t repeats, use.Int("repeats", 1));
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", 0));
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, x.rank()));
  std::vector<int64_t> dims = x.dims();
  if (dims.empty() || repeats < 1 || dims[static_cast<size_t>(axis)] > (int64_t{1} << 40) / repeats)
    return absl::InvalidArgumentError(StrCat("x is ", x.ToString(), " and repeats ", repeats,
                                             "; an axis and one repeat or more are needed"));
  const int64_t inner = ProductOf(dims, static_cast<size_t>(axis) + 1, dims.size());
  dims[static_cast<size_t>(axis)] *= repeats;
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  return Made(use, port, 20, [&x, inner, repeats](int64_t i, TruthSink& sink) {
    sink.Put(i, Load(x, i / inner / repeats * inner + i % inner), 0, 0);
  });
}

ReferenceOr MakeDropout(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_ASSIGN_OR_RETURN(const double p, use.Real("p", 0.5));
  PLINTH_ASSIGN_OR_RETURN(const bool training, use.Flag("training", true));
  if (training && p != 0)
    return absl::FailedPreconditionError("dropout in training is random: nothing to recompute");
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), use.in(0).dims()));
  const Values& x = use.in(0);
  return Made(use, port, 10, [&x](int64_t i, TruthSink& sink) { sink.Put(i, Load(x, i), 0, 0); });
}

// The largest element under the window; what lies beyond the edge counts as nothing.
ReferenceOr MakeMaxPool(const OpUse& use, size_t port) {
  PLINTH_ASSIGN_OR_RETURN(const Window window, Window::Make(use, port));
  const Values& x = use.in(0);
  if (port > 0) return absl::UnimplementedError("where the largest elements stand has no reference");
  return Made(use, port, 6.0 * static_cast<double>(window.terms()), [&x, window](int64_t o, TruthSink& sink) {
    long double found = -std::numeric_limits<long double>::infinity();
    window.Each(o, [&](int64_t at) {
      const long double y = Load(x, at);
      if (std::isnan(y) || y > found) found = y;
    });
    sink.Put(o, found, 0, 0);
  });
}

}  // namespace

ReferenceOr MakeChoice(const OpUse& use, size_t port, const Arithmetic&) {
  if (use.op == "where" || use.op == "masked_fill") return MakeWhere(use, port);
  if (use.op == "minimum" || use.op == "maximum") return MakeExtreme(use, port);
  if (use.op == "clamp") return MakeClamp(use, port);
  if (use.op == "gather") return MakeGather(use, port);
  if (use.op == "stack") return MakeStack(use, port);
  if (use.op == "repeat_interleave") return MakeRepeat(use, port);
  if (use.op == "dropout") return MakeDropout(use, port);
  if (use.op == "max_pool1d" || use.op == "max_pool2d") return MakeMaxPool(use, port);
  return MakeLargest(use, port);
}

}  // namespace plinth::verify::replay
