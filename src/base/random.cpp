#include "base/random.hpp"

#include <cmath>
#include <numbers>

namespace plimsoll {

double CounterRng::normal(uint64_t counter) const {
  double u = 1.0 - uniform(2 * counter);  // (0, 1]
  double v = uniform(2 * counter + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace plimsoll
