// Least squares under Student's t by reweighting, on columns whitened for noise correlated from point to
// point.
#pragma once
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace plimsoll::verdict {

using Column = std::vector<double>;

// What remains of x when each point is predicted from the one before: x[i] - rho x[i-1].
Column whitened(std::span<const double> x, double rho);

class RobustFit {
 public:
  // `target` must outlive the fit; `noise_floor` is the least scale of the noise.
  RobustFit(const Column& target, double noise_floor) : target_(target), noise_floor_(noise_floor) {}

  // The first round has equal weights; each further one is less impressed by outliers.
  void solve(const std::vector<const Column*>& columns, int rounds);
  double log_likelihood() const;
  // Call once after `solve`, before any `gain`.
  void prepare_gains();
  // How much of the weighted sum of squares a further column would explain, signed like its coefficient.
  double gain(const Column& column) const;
  double weighted_sum_of_squares() const;
  double scale() const { return scale_; }
  // Of the last column given.
  double last_coefficient() const { return last_coefficient_; }
  double last_error() const;

 private:
  void orthogonalise(const std::vector<const Column*>& columns);
  void rescale();

  const Column& target_;
  double noise_floor_;
  std::vector<Column> basis_, weighted_basis_;
  Column weights_, used_weights_, square_weights_, twice_weighted_residual_, residual_, weighted_residual_;
  double scale_ = 1, last_coefficient_ = 0, last_norm_ = 1;
};

}  // namespace plimsoll::verdict
