// Arbitrary doubles as a series: all results are finite.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "verdict/verdict.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::verdict;
  std::vector<Sample> samples(size / sizeof(Sample));
  if (!samples.empty()) std::memcpy(samples.data(), data, samples.size() * sizeof(Sample));
  Verdict v = judge(samples);
  for (double x :
       {v.rate, v.rate_low, v.rate_high, v.floor_start, v.floor_end, v.onset, v.confidence, v.ruled_out_rate})
    if (!std::isfinite(x)) std::abort();
  return 0;
}
