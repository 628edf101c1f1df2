#include "plinth/accept/inputs.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "plinth/base/digest.h"
#include "plinth/base/random.h"
#include "plinth/base/text.h"
#include "plinth/engine/series_file.h"

namespace plinth::accept {
namespace {

constexpr int kMadeSeries = 6;
constexpr int64_t kMadeSeason = 24;
constexpr uint64_t kMadeSeed = 20240229;

struct Series {
  std::string name;
  std::vector<double> values;
};

// A daily and a weekly season, a trend and noise; one with gaps, one of counts, one far from zero, one tiny:
// what data of plants look like.
std::vector<Series> MadeSeries(int64_t length) {
  std::vector<Series> all;
  for (int s = 0; s < kMadeSeries; ++s) {
    Random random(kMadeSeed + static_cast<uint64_t>(s));
    Series series{StrCat("made ", s), {}};
    for (int64_t t = 0; t < length; ++t) {
      const double day = 2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(kMadeSeason);
      double x =
          3 * std::sin(day) + std::sin(day / 7) + 0.002 * static_cast<double>(t) + 0.4 * random.Normal();
      if (s == 1) x = std::floor(std::max(0.0, 2 * x));        // counts with many zeros
      if (s == 2) x = 1e6 + x;                                 // a small movement on a high level
      if (s == 3) x *= 1e-6;                                   // tiny
      if (s == 4 && random.Uniform() < 0.1) x = std::nan("");  // gaps
      if (s == 5 && random.Uniform() < 0.02) x += 30;          // spikes
      series.values.push_back(x);
    }
    all.push_back(std::move(series));
  }
  return all;
}

StatusOr<std::vector<Series>> ReadSeries(const Recipe::Data& data, int64_t* season) {
  engine::SeriesColumns columns;
  if (!data.time.empty()) columns.time = data.time;
  if (!data.item.empty()) columns.item = data.item;
  columns.targets = data.targets;
  PLINTH_ASSIGN_OR_RETURN(engine::SeriesFile file, engine::SeriesFile::Open(data.file, columns));
  std::vector<Series> all;
  engine::SeriesItem item;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, file.Next(&item));
    if (!more) break;
    if (*season == 0) *season = item.DefaultSeason();
    for (size_t t = 0; t < item.values.size(); ++t) {
      all.push_back({StrCat(item.item.empty() ? "" : StrCat(item.item, ": "), file.targets()[t]),
                     std::move(item.values[t])});
    }
  }
  return all;
}

// A number that every machine writes alike: one NaN, and no other difference.
void AddBytes(Sha256* sha, std::span<const double> values) {
  for (const double x : values) {
    const double plain = std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
    sha->Update(std::as_bytes(std::span(&plain, 1)));
  }
}

}  // namespace

StatusOr<Inputs> MakeInputs(const Recipe::Data& data, int64_t context, int64_t horizon) {
  Inputs inputs;
  inputs.horizon = horizon;
  inputs.season = data.season;
  std::vector<Series> series;
  if (data.file.empty()) {
    inputs.source = StrCat(kMadeSeries, " made series, seed ", kMadeSeed);
    const int64_t rounds = (data.windows + kMadeSeries - 1) / kMadeSeries;
    series = MadeSeries(context + rounds * horizon);
    if (inputs.season == 0) inputs.season = kMadeSeason;
  } else {
    inputs.source = data.file;
    PLINTH_ASSIGN_OR_RETURN(inputs.file_digest, Sha256OfFile(data.file));
    PLINTH_ASSIGN_OR_RETURN(series, ReadSeries(data, &inputs.season));
  }
  int64_t longest = 0;
  for (const Series& s : series) longest = std::max(longest, static_cast<int64_t>(s.values.size()));
  // One season of history at least, so that there is something to compare with.
  const int64_t least = horizon + inputs.season + 1;
  for (int64_t k = 0; longest - k * horizon >= least; ++k) {
    for (const Series& s : series) {
      const int64_t origin = static_cast<int64_t>(s.values.size()) - (k + 1) * horizon;
      if (origin < inputs.season + 1) continue;
      if (static_cast<int64_t>(inputs.windows.size()) == data.windows) break;
      const int64_t first = std::max<int64_t>(0, origin - context);
      inputs.windows.push_back({s.name,
                                {s.values.begin() + first, s.values.begin() + origin},
                                {s.values.begin() + origin, s.values.begin() + origin + horizon}});
    }
  }
  if (inputs.windows.empty()) {
    return absl::InvalidArgumentError(StrCat(inputs.source, ": the longest series has ", longest,
                                             " steps; at least ", least, " are needed (one season of ",
                                             inputs.season, ", then a horizon of ", horizon, ")"));
  }
  Sha256 sha;
  sha.Update(StrCat("plinth.inputs/1 horizon ", horizon, " season ", inputs.season, "\n"));
  for (const Inputs::Window& w : inputs.windows) {
    sha.Update(StrCat(w.series, "\n", w.context.size(), " ", w.truth.size(), "\n"));
    AddBytes(&sha, w.context);
    AddBytes(&sha, w.truth);
  }
  PLINTH_ASSIGN_OR_RETURN(inputs.digest, sha.Hex());
  return inputs;
}

}  // namespace plinth::accept
