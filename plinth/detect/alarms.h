// Makes alarms of fused scores: where, why, and which columns.
#pragma once

#include <span>
#include <vector>

#include "plinth/detect/column.h"
#include "plinth/detect/detect.h"
#include "plinth/detect/relate.h"

namespace plinth::detect {

// What all scores found, on the rows that were looked at.
struct Findings {
  struct OfScore {
    Score score;
    std::vector<double> surprise;           // [rows]
    std::vector<std::vector<float>> parts;  // [columns][rows]: what each column adds, in any one unit
  };
  std::vector<OfScore> scores;
  std::vector<double> fused;  // [rows]
};

// By what rows become alarms.
struct AlarmRule {
  double threshold = 0;
  int64_t window = 0;
  std::span<const Column> normal;  // the first `calibration` rows of these columns are normal
  int64_t calibration = 0;
};

// Alarms from the row `first` on, rows counted as in the findings and columns.
std::vector<Alarm> FindAlarms(std::span<const Column> columns, const Findings& findings,
                              const AlarmRule& rule, int64_t first);

// Adds to each alarm the columns that lead one of its own (`relations`) and moved before its peak: were at
// least as surprising as one row in a hundred, no farther back than twice the lag before the alarm's first
// row.
void AddCauses(std::span<const Column> columns, const Findings& findings, const Relations& relations,
               std::span<Alarm> alarms);

}  // namespace plinth::detect
