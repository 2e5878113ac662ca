// The history shown by a live page: the rows of a record as they arrive, in bounded memory. When a table is
// full, its older half is thinned out, keeping minima and maxima.
#pragma once
#include <map>
#include <string>

#include "record/run_tail.hpp"
#include "report/run_data.hpp"

namespace plimsoll::live {

class KeptRun {
 public:
  KeptRun(const RunReader& reader, std::string name);

  // Keeps the rows, and gives them as what a page that has all before them is to add.
  report::RunData take(const RunTail::News& news);
  // The judgement that goes with them, as JSON.
  void judge(std::string verdict, double line);

  const report::RunData& data() const { return data_; }
  bool empty() const { return data_.memory.empty() && data_.steps.empty(); }

  static constexpr size_t most_rows = 16384;     // of memory, and of steps
  static constexpr size_t most_samples = 32768;  // of all processes
  static constexpr size_t most_processes = 512, most_others = 2048;

 private:
  void bound();

  report::RunData data_;
  struct Known {
    RunReader::Process process;
    ProcessSampleRow newest;  // of process 0 where there is none
  };
  std::map<int64_t, Known> known_;  // by the id of their rows
};

}  // namespace plimsoll::live
