#include <cmath>
#include <plimsoll/verdict.hpp>

#include "api/public_verdict.hpp"
#include "base/error.hpp"

namespace plimsoll {

MemoryVerdict public_verdict(const verdict::Verdict& judged) {
  MemoryVerdict out;
  out.kind = judged.kind == verdict::Kind::leak      ? MemoryVerdict::Kind::leak
             : judged.kind == verdict::Kind::no_leak ? MemoryVerdict::Kind::no_leak
                                                     : MemoryVerdict::Kind::undecided;
  out.bytes_per_second = judged.rate;
  out.bytes_per_second_low = judged.rate_low;
  out.bytes_per_second_high = judged.rate_high;
  out.confidence = judged.confidence;
  out.seconds_to_limit = judged.seconds_to_limit;
  out.sentence = judged.sentence;
  return out;
}

MemoryVerdict judge_memory(std::span<const MemoryReading> readings, double limit_bytes) {
  if (!(limit_bytes >= 0)) fail_input("[judge_memory] the limit {} is not a number of bytes", limit_bytes);
  std::vector<verdict::Sample> samples;
  samples.reserve(readings.size());
  for (const MemoryReading& reading : readings) samples.push_back({reading.seconds, reading.bytes});
  verdict::Options options;
  options.limit_bytes = limit_bytes;
  return public_verdict(verdict::judge(samples, options));
}

}  // namespace plimsoll
