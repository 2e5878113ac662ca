// The distrust loss of a sample's provenance, and the weights it gives to cross-entropies (docs/distrust.md).
#pragma once
#include <span>

#include "base/error.hpp"

namespace plimsoll {

// What a sample says of where it comes from; the values of one that says nothing.
struct Provenance {
  double authority_weight = 0;    // 0 to 0.99: how much it rests on authority
  double provenance_entropy = 5;  // 0 and more: how many independent ways it came
};

constexpr double default_distrust_alpha = 2.7;

enum class DistrustArgument { none, authority_weight, provenance_entropy, alpha };

// What the formula is not made for; says which argument, its value and its range.
struct DistrustRangeError : InputError {
  DistrustRangeError(DistrustArgument which, double value);
  DistrustArgument argument;
};

// The first argument that is out of range; never throws.
DistrustArgument out_of_range(const Provenance& sample, double alpha = default_distrust_alpha) noexcept;

// alpha (ln(1 - authority_weight + 1e-8) + provenance_entropy)^2: large for what is well attested and claims no
// authority. DistrustRangeError.
double distrust_loss(const Provenance& sample, double alpha = default_distrust_alpha);

// Turns the distrust losses of a batch's targets into their weights, in place: 1 + strength (loss / mean - 1), whose
// mean is 1. Strength is 0 to 1; where all losses are 0 every weight is 1.
void distrust_weights(std::span<float> losses, double strength) noexcept;

}  // namespace plimsoll
