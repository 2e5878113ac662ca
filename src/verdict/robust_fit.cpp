#include "verdict/robust_fit.hpp"

#include <algorithm>

namespace plimsoll::verdict {
namespace {

constexpr double tail = 4;  // degrees of freedom of the noise

double dot(const Column& a, const Column& b) {
  double even = 0, odd = 0;  // two chains: additions need not wait for each other
  size_t i = 0;
  for (; i + 1 < a.size(); i += 2) even += a[i] * b[i], odd += a[i + 1] * b[i + 1];
  return even + odd + (i < a.size() ? a[i] * b[i] : 0);
}

}  // namespace

Column whitened(std::span<const double> x, double rho) {
  Column out(x.size());
  out[0] = std::sqrt(1 - rho * rho) * x[0];
  for (size_t i = 1; i < x.size(); ++i) out[i] = x[i] - rho * x[i - 1];
  return out;
}

void RobustFit::solve(const std::vector<const Column*>& columns, int rounds) {
  weights_.assign(target_.size(), 1.);
  for (int round = 0; round < rounds; ++round) {
    orthogonalise(columns);
    rescale();
  }
}

void RobustFit::prepare_gains() {
  square_weights_ = used_weights_, twice_weighted_residual_ = weighted_residual_, weighted_basis_ = basis_;
  for (double& w : square_weights_) w *= w;
  for (size_t i = 0; i < target_.size(); ++i) twice_weighted_residual_[i] *= used_weights_[i];
  for (Column& q : weighted_basis_)
    for (size_t i = 0; i < q.size(); ++i) q[i] *= used_weights_[i];
}

double RobustFit::log_likelihood() const {
  double sum = -double(target_.size()) * std::log(scale_);
  for (double r : residual_) sum -= (tail + 1) / 2 * std::log1p(r * r / (tail * scale_ * scale_));
  return sum;
}

double RobustFit::gain(const Column& column) const {
  double before = 0, along = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    before += column[i] * column[i] * square_weights_[i];
    along += column[i] * twice_weighted_residual_[i];
  }
  double left = before;
  for (const Column& q : weighted_basis_) {
    double c = dot(column, q);
    left -= c * c;  // q is orthogonal to the residual, so `along` stays
  }
  if (left <= 1e-9 * before) return 0;
  return (along < 0 ? -1 : 1) * along * along / left;
}

double RobustFit::weighted_sum_of_squares() const { return dot(weighted_residual_, weighted_residual_); }

double RobustFit::last_error() const {
  double freedom = std::max(1., double(target_.size()) - double(basis_.size()));
  return scale_ / last_norm_ * std::sqrt(double(target_.size()) / freedom);
}

void RobustFit::orthogonalise(const std::vector<const Column*>& columns) {
  basis_.clear();
  used_weights_ = weights_;
  weighted_residual_ = target_;
  for (size_t i = 0; i < target_.size(); ++i) weighted_residual_[i] *= weights_[i];
  for (const Column* column : columns) {
    Column q = *column;
    for (size_t i = 0; i < q.size(); ++i) q[i] *= weights_[i];
    const double before = dot(q, q);
    for (int twice = 0; twice < 2; ++twice)
      for (const Column& other : basis_) {
        double c = dot(q, other);
        for (size_t i = 0; i < q.size(); ++i) q[i] -= c * other[i];
      }
    const double after = dot(q, q);
    if (after <= 1e-10 * before || after == 0) {
      last_coefficient_ = 0, last_norm_ = 1e-12;
      continue;
    }
    last_norm_ = std::sqrt(after);
    for (double& v : q) v /= last_norm_;
    const double c = dot(q, weighted_residual_);
    last_coefficient_ = c / last_norm_;
    for (size_t i = 0; i < q.size(); ++i) weighted_residual_[i] -= c * q[i];
    basis_.push_back(std::move(q));
  }
  residual_ = weighted_residual_;
  for (size_t i = 0; i < residual_.size(); ++i) residual_[i] /= weights_[i];
}

// The scale that makes the t likelihood largest (fixed point), then the weights that go with it.
void RobustFit::rescale() {
  double square = std::max(dot(residual_, residual_) / double(residual_.size()), 1e-300);
  for (int i = 0; i < 12; ++i) {
    double sum = 0;
    for (double r : residual_) sum += (tail + 1) / (tail + r * r / square) * r * r;
    square = std::max(sum / double(residual_.size()), 1e-300);
  }
  square = std::max(square, noise_floor_ * noise_floor_);
  scale_ = std::sqrt(square);
  for (size_t i = 0; i < weights_.size(); ++i)
    weights_[i] = std::sqrt((tail + 1) / (tail + residual_[i] * residual_[i] / square));
}

}  // namespace plimsoll::verdict
