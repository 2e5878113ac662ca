// The ranks of one training run side by side: one sentence, who is worst by name, how the others lie around the median, and a
// row for each; never a series for each of them.
#pragma once
#include <string>
#include <vector>

#include "record/run_rows.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::report {

struct RankRow {
  int64_t rank = 0;
  std::string node;
  double plan = unknown_real;                                             // bytes
  double first = unknown_real, last = unknown_real, peak = unknown_real;  // resident
  double step_seconds = unknown_real, waiting_seconds = unknown_real, exchange_seconds = unknown_real;
  bool judged = false;
  verdict::Verdict verdict;

  std::string name() const;  // "rank 17 on b"
};

struct RankView {
  std::vector<RankRow> rows;  // by rank; empty: the run has one rank
  size_t worst = 0;           // leaks first, then the highest peak
  size_t slowest = 0;         // whom the others wait for
  size_t leaks = 0;
  double median_peak = unknown_real, skew = unknown_real;  // skew: the highest peak over the median, less 1
  std::string sentence;
};

// With `judge` every rank's memory is judged as that of any other program; `line` bytes are not to be crossed, 0: none.
RankView view_ranks(const RunRows& run, bool judge, double line = 0);

}  // namespace plimsoll::report
