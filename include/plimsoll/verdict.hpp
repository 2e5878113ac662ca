// Is a series of memory readings a leak?
//
//   std::vector<plimsoll::MemoryReading> readings;
//   for (int i = 0; i < 600; ++i) readings.push_back({double(i), 100e6 + 1e6 * i + (i % 10) * 5e6});
//   const plimsoll::MemoryVerdict verdict = plimsoll::judge_memory(readings, 4e9);
//   std::puts(verdict.sentence.c_str());
//   assert(verdict.kind == plimsoll::MemoryVerdict::Kind::leak);
//
// The floor is judged, not the peaks: spikes, saw-teeth, warm-up and steps that stay are not leaks. The method is
// described in docs/verdict.md.
#pragma once
#include <optional>
#include <span>
#include <string>

namespace plimsoll {

struct MemoryReading {
  double seconds = 0;  // any origin, ascending
  double bytes = 0;
};

struct MemoryVerdict {
  enum class Kind { leak, no_leak, undecided };

  Kind kind = Kind::undecided;
  double bytes_per_second = 0;  // best estimate of the growth, whatever the kind
  double bytes_per_second_low = 0, bytes_per_second_high = 0;  // 95 % interval
  double confidence = 0;                                       // 0 to 1 that the floor keeps rising
  std::optional<double> seconds_to_limit;                      // for a leak below a known limit
  std::string sentence;                                        // all of it in words
};

// `limit_bytes` is the line not to cross; 0: none known.
MemoryVerdict judge_memory(std::span<const MemoryReading> readings, double limit_bytes = 0);

}  // namespace plimsoll
