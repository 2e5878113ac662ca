// The named model configurations used for measurements, and the number of operations in a training step of each.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "model/spec.hpp"

namespace plimsoll::bench {

// Tied head without a bias, feed-forward four times as wide, as many positions as the context has.
struct Config {
  std::string name;
  int64_t vocab, context, layers, heads, dim, batch;

  ModelSpec model() const;
  // Floating-point operations of one training step: tokens x (6 x (12 L d^2 + V d) + 12 L T d), attention in
  // full.
  double flops() const;
  int64_t tokens() const { return batch * context; }
};

std::span<const Config> configs();
// InputError with the nearest name for an unknown one.
const Config& find_config(std::string_view name);
// InputError, naming the flag, for a shape that no model has.
void check(const Config& config);

}  // namespace plimsoll::bench
