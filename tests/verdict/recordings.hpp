// Recorded runs of real programs with their truth, as tests/soak/record_real.py writes them: a JSON object a line.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

struct Recording {
  std::string name, tell;
  uint64_t seed = 0;
  bool busy = false, leaks = false;
  bool filling = false;  // a cache that has not stopped by the end: neither answer is wrong
  double total = 0;      // steps the program says it will do; 0: it does not
  std::optional<double> first_epoch_end;
  double until = 0;                           // what came later was the program's end
  std::vector<Sample> owned, rss, available;  // up to `until`
  std::vector<StepMark> steps;                // as they were told
  std::vector<Phase> phases;
  struct Mark {
    double time, step, lost, held;
  };
  std::vector<Mark> truth;  // by time and step, from the first step to the last

  // Resident pages that are not owned, at the time of each owned sample.
  double mapped(size_t sample) const { return rss[sample].bytes - owned[sample].bytes; }
  Options options() const;  // what the watch knew at the end

  double begin() const { return truth.front().time; }
  double end() const { return truth.back().time; }
  double onset() const { return losing().front().time; }
  // Of what the program held at the ends of its steps, from a twentieth after something is first lost to the end.
  double rate(double until = 1e18) const;
  double rate_per_step(double until = 1e18) const;
  // By the end, as a share of what it held when its loop began.
  double growth() const;

 private:
  std::vector<Mark> losing(double until = 1e18) const;
};

std::vector<Recording> read_recordings(const std::string& path);

}  // namespace plimsoll::verdict
