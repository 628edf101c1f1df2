// Turns rows of series into Chronos-2's tokens, and its outputs back into quantiles; internal to this family.
#pragma once

#include <vector>

#include "plinth/models/chronos_blocks.h"
#include "plinth/models/model.h"

namespace plinth::models {

struct Chronos2Sizes {
  int64_t context = 0;  // most steps of history
  PatchGrid grid;       // of the history; the future is cut into patches of the same size
  int64_t future = 0;   // most patches forecast in one pass
  double time_scale = 1;
  bool arcsinh = false;
  std::vector<double> levels;
  int64_t d = 0, d_kv = 0, heads = 0, d_ff = 0, layers = 0;
  double eps = 0, theta = 0;
  ops::Activation act = ops::Activation::kRelu;

  int64_t inner() const { return heads * d_kv; }
  int64_t features() const { return 3 * grid.size; }  // time, values, mask
  int64_t quantiles() const { return static_cast<int64_t>(levels.size()); }
  int64_t head() const { return quantiles() * grid.size; }
  int64_t context_patches() const { return grid.Count(context); }
};

// Inputs in the order of their declaration; those from kOrder on exist for grouped runs only. Tokens of a row
// stand together: those patches of its past in which something is observed, the register, the future.
enum Chronos2Input : size_t {
  kFeatures,         // f32 [tokens, 3 * patch]; zeros for the register
  kSources,          // i32 [tokens]: row of the register and the embedded tokens, one below the other
  kPositions,        // i32 [tokens]: patches behind the register, which is 0
  kOffsets,          // i32 [rows + 1]: where a row's tokens begin
  kFutureTokens,     // i32 [future]: the tokens that are forecast
  kFuturePositions,  // i32 [future]
  kFutureOffsets,    // i32 [rows + 1]: where a row's future tokens begin
  kOrder,            // i32 [tokens]: tokens by group, then position, then row
  kPlaces,           // i32 [tokens]: where each token stands in that order
  kMeetings,         // i32 [meetings + 1]: where each (group, position) that has tokens begins in that order
  kFutureOrder,      // the same three of the future tokens alone: i32 [future]
  kFuturePlaces,     // i32 [future]
  kFutureMeetings,   // i32 [future_meetings + 1]
  kChronos2Inputs
};

// Names of the extents that Finish gives, in its order.
inline constexpr const char* kChronos2Dimensions[] = {"tokens", "rows", "future", "meetings",
                                                      "future_meetings"};

class Chronos2Codec : public Codec {
 public:
  Chronos2Codec(const Chronos2Sizes& sizes, int64_t rows, int64_t tokens);

  void Begin(absl::Span<const View> inputs, int64_t steps) override;
  void Add(std::span<const Row> group) override;
  void Finish(std::span<int64_t> extents) override;
  void Read(absl::Span<const View> outputs, int64_t i, std::span<double> quantiles) const override;
  std::vector<Origin> Origins() const override;

 private:
  struct RowState {
    series::Scale scale;
    int64_t begin = 0;    // its first token
    int64_t patches = 0;  // of its past, the empty ones included
  };

  int32_t* Ints(Chronos2Input input) const { return inputs_[input].as<int32_t>(); }
  void AddRow(const Row& row);
  void WritePast(std::span<const double> past, const series::Scale& scale);
  void WriteFuture(std::span<const double> future, const series::Scale& scale);
  void WriteToken(int64_t time, std::span<const double> z, std::span<const uint8_t> observed);
  int64_t AppendToken(int64_t position, int64_t source);
  int64_t EndOfTokens(int64_t row) const;
  void OrderGroup(int64_t first);
  void OrderFuture(int64_t first);
  float Squash(double z) const;

  const Chronos2Sizes s_;
  View inputs_[kChronos2Inputs];
  bool grouped_ = false;
  int64_t future_ = 0;  // patches of this run
  int64_t tokens_ = 0, ordered_ = 0, meetings_ = 0, future_meetings_ = 0;
  std::vector<RowState> rows_;
  std::vector<int32_t> positions_;  // of each token; a run writes over its inputs when it needs them no more
  std::vector<int64_t> cursors_;    // of each row of a group: its next token to be ordered
  // The row being added, standardised, and where it is observed.
  std::vector<double> z_;
  std::vector<uint8_t> observed_;
};

}  // namespace plinth::models
