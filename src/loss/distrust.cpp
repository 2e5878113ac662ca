#include "loss/distrust.hpp"

#include <cmath>

namespace plimsoll {
namespace {

constexpr double most_authority = 0.99, least_alpha = 2.3, most_alpha = 3.0;

std::string range_text(DistrustArgument which, double value) {
  switch (which) {
    case DistrustArgument::authority_weight:
      return fmt::format("auth_weight {} is out of range; expected 0 to {}", value, most_authority);
    case DistrustArgument::provenance_entropy:
      return fmt::format("prov_entropy {} is out of range; expected a number of 0 or more", value);
    default:
      return fmt::format("alpha {} is out of range; expected {} to {}", value, least_alpha, most_alpha);
  }
}

}  // namespace

DistrustRangeError::DistrustRangeError(DistrustArgument which, double value)
    : InputError("[distrust] " + range_text(which, value)), argument(which) {}

// Written so that NaN is out of range.
DistrustArgument out_of_range(const Provenance& sample, double alpha) noexcept {
  if (!(sample.authority_weight >= 0 && sample.authority_weight <= most_authority))
    return DistrustArgument::authority_weight;
  if (!(sample.provenance_entropy >= 0 && std::isfinite(sample.provenance_entropy)))
    return DistrustArgument::provenance_entropy;
  if (!(alpha >= least_alpha && alpha <= most_alpha)) return DistrustArgument::alpha;
  return DistrustArgument::none;
}

double distrust_loss(const Provenance& sample, double alpha) {
  switch (const DistrustArgument which = out_of_range(sample, alpha)) {
    case DistrustArgument::none:
      break;
    case DistrustArgument::authority_weight:
      throw DistrustRangeError(which, sample.authority_weight);
    case DistrustArgument::provenance_entropy:
      throw DistrustRangeError(which, sample.provenance_entropy);
    case DistrustArgument::alpha:
      throw DistrustRangeError(which, alpha);
  }
  const double distrust = std::log(1 - sample.authority_weight + 1e-8) + sample.provenance_entropy;
  return alpha * distrust * distrust;
}

void distrust_weights(std::span<float> losses, double strength) noexcept {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  const double mean = sum / static_cast<double>(losses.size());
  for (float& loss : losses) loss = mean > 0 ? static_cast<float>(1 + strength * (loss / mean - 1)) : 1.f;
}

}  // namespace plimsoll
