// Chooses the value of each text row of a terminal chart, so that round numbers fall on whole rows.
#pragma once

#include <cstdint>
#include <string>

namespace plinth {

// Row r (0 is the bottom one) is centred at (bottom + r) * unit; every `every`-th multiple of the unit is
// labelled with a round number.
struct ChartScale {
  double unit = 1;
  int64_t bottom = 0;
  int every = 1;
  int rows = 1;

  // The height of a value in rows; 0 is the lower edge of the bottom row.
  double Height(double value) const { return value / unit - static_cast<double>(bottom) + 0.5; }
  bool Labelled(int row) const { return (bottom + row) % every == 0; }
};

// Covers [low, high] (finite, low <= high) with `rows` >= 2 rows and wastes little of them. A range of no
// extent, or one below what doubles of that size resolve, is widened.
ChartScale ChooseScale(double low, double high, int rows);

// The label of a labelled row: as many decimals as keep neighbouring labels distinct, a shared k, M, G or T
// where the step is that large, scientific notation outside 1e-5 .. 1e15.
std::string ScaleLabel(const ChartScale& scale, int row);

}  // namespace plinth
