// The memory of every process at common points in time, so that it can be stacked.
#pragma once
#include <cstdint>
#include <vector>

#include "report/run_data.hpp"

namespace plimsoll::report {

struct ProcessFigures {
  const RunReader::Process* process = nullptr;
  int64_t first = 0, last = 0;  // bytes at its first and last sample
  int64_t low = 0, peak = 0;
};

struct ProcessStack {
  std::vector<ProcessFigures> shown;  // the ones with the highest peaks, in order of first sight
  size_t others = 0;                  // how many more there were; the last column is their sum
  struct Row {
    double time = 0;
    std::vector<int64_t> bytes;  // a column each of `shown`, then the others'; -1: not alive
  };
  std::vector<Row> rows;  // true moments: the least and greatest of the whole, and of each process
};

ProcessStack stack_processes(const RunData& data, size_t most_processes, size_t stretches);

}  // namespace plimsoll::report
