#include "plinth/verify/band.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plinth/base/random.h"
#include "plinth/base/text.h"
#include "plinth/formats/config.h"
#include "plinth/formats/json_writer.h"
#include "plinth/verify/difference.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

using formats::Config;
using formats::ConstTensorRef;

// The confidence that Coverage speaks with.
constexpr double kConfidence = 0.95;

const std::vector<std::string>& Sources() {
  static const std::vector<std::string> kSources = {"repeat", "batch", "threads",
                                                    "kernel", "isa",   "last-bit"};
  return kSources;
}

std::string RunName(std::span<const BandRun> runs, size_t i) {
  return StrCat("run ", i, " (", runs[i].source, ")");
}

using Tensors = std::map<std::string_view, std::vector<const ConstTensorRef*>>;

// Every run's tensor of each key, in the order of the runs.
StatusOr<Tensors> Gather(std::span<const BandRun> runs) {
  Tensors tensors;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, tensor] : runs[i].tensors) {
      auto& list = tensors[key];
      if (list.size() != i) {
        return absl::InvalidArgumentError(StrCat(
            RunName(runs, list.size() > i ? i : list.size()), list.size() > i ? ": holds " : ": lacks ", key,
            list.size() > i ? " twice; once is expected" : "; every run must hold the same tensors"));
      }
      list.push_back(&tensor);
    }
  }
  for (const auto& [key, list] : tensors) {
    if (list.size() < runs.size()) {
      return absl::InvalidArgumentError(
          StrCat(RunName(runs, list.size()), ": lacks ", key, "; every run must hold the same tensors"));
    }
    for (size_t i = 1; i < list.size(); ++i) {
      const ConstTensorRef &a = *list[0], &b = *list[i];
      if (a.dtype == b.dtype && a.stored == b.stored &&
          std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end()))
        continue;
      return absl::InvalidArgumentError(
          StrCat(RunName(runs, i), ": ", key, " is ", formats::ToString(b.dtype, b.dims), "; ",
                 formats::ToString(a.dtype, a.dims), " as in run 0 is expected"));
    }
  }
  return tensors;
}

Status Widen(const ConstTensorRef& a, const ConstTensorRef& b, Threads* threads, TensorBand* band) {
  DifferOptions options;
  options.threads = threads;
  PLINTH_ASSIGN_OR_RETURN(const Difference d, Differ(a, b, options));
  // Relative to the smaller of both, as either could be the reference.
  const double size = std::min(d.a.l2, d.b.l2);
  band->rel_l2 = std::max(band->rel_l2, size > 0 ? d.l2 / size : d.rel_l2);
  band->max_abs = std::max(band->max_abs, d.max_abs);
  band->mean_error = std::max(band->mean_error, std::abs(d.mean_error));
  band->rmse = std::max(band->rmse, d.rmse);
  if (d.unequal + d.nan_mismatch + d.inf_mismatch + d.zero_sign_mismatch > 0) band->bitwise = false;
  return absl::OkStatus();
}

StatusOr<TensorBand> ReadTensorBand(const Config& c, int64_t runs) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"rel_l2", "max_abs", "mean_error", "rmse", "bitwise"}));
  TensorBand band{.runs = runs};
  const double most = std::numeric_limits<double>::max();
  PLINTH_ASSIGN_OR_RETURN(band.rel_l2, c.Real("rel_l2", 0, most));
  PLINTH_ASSIGN_OR_RETURN(band.max_abs, c.Real("max_abs", 0, most));
  PLINTH_ASSIGN_OR_RETURN(band.mean_error, c.Real("mean_error", 0, most));
  PLINTH_ASSIGN_OR_RETURN(band.rmse, c.Real("rmse", 0, most));
  PLINTH_ASSIGN_OR_RETURN(band.bitwise, c.Flag("bitwise"));
  if (band.bitwise && band.max_abs > 0) return c.Refuse("bitwise", "false, as max_abs is above 0");
  return band;
}

// Whether flipping the last bit of the significand keeps what the number is: finite, of its sign, not zero.
template <typename Bits>
bool Flippable(Bits bits, Bits exponent, Bits significand) {
  const Bits magnitude = bits & (exponent | significand);
  return (bits & exponent) != exponent && magnitude > 1;
}

template <typename Bits>
int64_t FlipAll(std::span<std::byte> data, Bits exponent, Bits significand, uint64_t seed, double share) {
  const size_t count = data.size() / sizeof(Bits);
  Random random(seed);
  const auto flip = [&](size_t i) {
    Bits bits;
    std::memcpy(&bits, data.data() + i * sizeof(Bits), sizeof(Bits));
    if (!Flippable(bits, exponent, significand)) return false;
    bits ^= 1;
    std::memcpy(data.data() + i * sizeof(Bits), &bits, sizeof(Bits));
    return true;
  };
  int64_t flipped = 0;
  for (size_t i = 0; i < count; ++i) {
    // A draw for every element, so that whether one can be flipped does not shift the others.
    if (random.Uniform() < share) flipped += flip(i);
  }
  // A small tensor gets its change, too.
  for (size_t i = 0; i < count && flipped == 0; ++i) flipped += flip(i);
  return flipped;
}

}  // namespace

const TensorBand* Band::Find(std::string_view key) const {
  const auto at = tensors.find(key);
  return at == tensors.end() ? nullptr : &at->second;
}

StatusOr<Band> MakeBand(std::span<const BandRun> runs, Threads* threads) {
  if (runs.size() < 2) {
    return absl::InvalidArgumentError(StrCat("a band of ", runs.size(), " runs; at least 2 are expected, ",
                                             kWorkRepeats, " for daily work, ", kSignedRepeats,
                                             " for a signed acceptance"));
  }
  Band band;
  band.runs = static_cast<int64_t>(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string& source = runs[i].source;
    if (std::find(Sources().begin(), Sources().end(), source) == Sources().end()) {
      return absl::InvalidArgumentError(StrCat("run ", i, ": source ", formats::QuotedShort(source),
                                               "; one of ", Join(Sources(), ", "), " is expected"));
    }
    if (std::find(band.sources.begin(), band.sources.end(), source) == band.sources.end())
      band.sources.push_back(source);
  }
  PLINTH_ASSIGN_OR_RETURN(const Tensors tensors, Gather(runs));
  for (const auto& [key, list] : tensors) {
    TensorBand one;
    one.runs = band.runs, one.bitwise = true;
    for (size_t i = 0; i < list.size(); ++i) {
      for (size_t j = i + 1; j < list.size(); ++j)
        PLINTH_RETURN_IF_ERROR(Widen(*list[i], *list[j], threads, &one));
    }
    band.tensors.emplace(key, one);
  }
  return band;
}

std::string ToJson(const Band& band) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("schema"), w.String("plinth.band/1");
  w.Key("runs"), w.Int(band.runs);
  w.Key("sources"), w.BeginArray();
  for (const std::string& source : band.sources) w.String(source);
  w.EndArray();
  w.Key("exceed_chance"), w.Number(ExceedChance(band.runs));
  w.Key("coverage"), w.Number(Coverage(band.runs));
  w.Key("tensors"), w.BeginObject();
  for (const auto& [key, one] : band.tensors) {
    w.Key(key), w.BeginObject();
    w.Key("rel_l2"), w.Number(one.rel_l2);
    w.Key("max_abs"), w.Number(one.max_abs);
    w.Key("mean_error"), w.Number(one.mean_error);
    w.Key("rmse"), w.Number(one.rmse);
    w.Key("bitwise"), w.Bool(one.bitwise);
    w.EndObject();
  }
  w.EndObject();
  w.EndObject();
  return out;
}

StatusOr<Band> ParseBand(std::string_view json, std::string_view where) {
  PLINTH_ASSIGN_OR_RETURN(const Config root, Config::Parse(json, std::string(where)));
  PLINTH_RETURN_IF_ERROR(root.Choice("schema", {"plinth.band/1"}).status());
  PLINTH_RETURN_IF_ERROR(
      root.CheckKeys({"schema", "runs", "sources", "exceed_chance", "coverage", "tensors"}));
  Band band;
  PLINTH_ASSIGN_OR_RETURN(band.runs, root.Int("runs", 2, 1'000'000));
  PLINTH_ASSIGN_OR_RETURN(band.sources, root.Texts("sources"));
  PLINTH_ASSIGN_OR_RETURN(const Config tensors, root.Section("tensors"));
  for (const auto& [key, value] : *tensors.json().object()) {
    PLINTH_ASSIGN_OR_RETURN(const Config one, tensors.Section(key));
    PLINTH_ASSIGN_OR_RETURN(const TensorBand tensor, ReadTensorBand(one, band.runs));
    band.tensors.emplace(key, tensor);
  }
  return band;
}

double ExceedChance(int64_t runs) { return 1.0 / (static_cast<double>(runs) + 1); }

double Coverage(int64_t runs) { return std::pow(1 - kConfidence, 1.0 / static_cast<double>(runs)); }

std::string CoverageText(int64_t runs) {
  return StrCat("R = ", runs, ": the next run exceeds the largest seen with a chance of ",
                ShortNumber(100 * ExceedChance(runs)), " %");
}

int64_t FlipLastBits(DType dtype, std::span<std::byte> data, uint64_t seed, double share) {
  switch (dtype) {
    case DType::kF64:
      return FlipAll<uint64_t>(data, 0x7ff0000000000000u, 0x000fffffffffffffu, seed, share);
    case DType::kF32:
      return FlipAll<uint32_t>(data, 0x7f800000u, 0x007fffffu, seed, share);
    case DType::kF16:
      return FlipAll<uint16_t>(data, 0x7c00u, 0x03ffu, seed, share);
    case DType::kBF16:
      return FlipAll<uint16_t>(data, 0x7f80u, 0x007fu, seed, share);
    default:
      return 0;
  }
}

}  // namespace plinth::verify
