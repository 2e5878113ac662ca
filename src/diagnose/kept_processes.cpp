#include "diagnose/kept_processes.hpp"

#include <algorithm>

namespace plimsoll::diagnose {
namespace {

constexpr size_t few = 3;             // times that processes were started
constexpr double together = 0.1;      // of the mean time between two starts: those of one pool
constexpr double longest_wait = 2.5;  // times the longest wait so far

}  // namespace

std::optional<KeptProcesses> keeps_processes(std::vector<KeptProcess> living, double until) {
  if (living.size() < few) return std::nullopt;
  std::sort(living.begin(), living.end(), [](auto& a, auto& b) { return a.born < b.born; });
  const double lasted = until - living.front().born, apart = together * lasted / double(living.size());
  size_t starts = 1;
  double longest = 0, bytes = 0;
  for (size_t i = 0; i < living.size(); ++i) {
    bytes += living[i].bytes;
    if (i == 0 || living[i].born - living[i - 1].born <= apart) continue;
    ++starts;
    longest = std::max(longest, living[i].born - living[i - 1].born);
  }
  if (starts < few || until - living.back().born > longest_wait * longest) return std::nullopt;
  return KeptProcesses{living.size(), bytes, bytes / lasted};
}

}  // namespace plimsoll::diagnose
