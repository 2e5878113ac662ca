// Memory series with a known truth: benign and leaking shapes with disturbances (noise, spikes, saw-teeth,
// warm-up, steps, missing samples) that are drawn independently of the truth. There are two sets of ranges:
// one for development, one held out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

enum class Ranges { development, held_out };

struct Truth {
  bool leaks = false;
  double growth = 0;  // of the leak alone, as a fraction of the base
  double onset = 0;   // seconds
  double end = 0;     // seconds
  double rate = 0;    // bytes a second, from onset to end
};

struct GeneratedSeries {
  std::string shape;
  Truth truth;
  std::vector<Sample> samples;
};

const std::vector<std::string>& benign_shapes();
const std::vector<std::string>& leaking_shapes();
// A pure function of its arguments.
GeneratedSeries generate(const std::string& shape, uint64_t seed, Ranges ranges);

}  // namespace plimsoll::verdict
