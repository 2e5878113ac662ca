#include "verdict/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

namespace plimsoll::verdict {
namespace {

constexpr double correlations[] = {0, .35, .65, .85, .98};
constexpr double tail = 4;  // degrees of freedom of the noise

using Column = std::vector<double>;

Column whitened(std::span<const double> x, double rho) {
  Column out(x.size());
  out[0] = std::sqrt(1 - rho * rho) * x[0];
  for (size_t i = 1; i < x.size(); ++i) out[i] = x[i] - rho * x[i - 1];
  return out;
}

double dot(const Column& a, const Column& b) {
  double even = 0, odd = 0;  // two chains: additions need not wait for each other
  size_t i = 0;
  for (; i + 1 < a.size(); i += 2) even += a[i] * b[i], odd += a[i + 1] * b[i + 1];
  return even + odd + (i < a.size() ? a[i] * b[i] : 0);
}

// Least squares under Student's t by reweighting; columns are added one at a time and the last can be taken back.
class RobustFit {
 public:
  RobustFit(const Column& target, double noise_floor) : target_(target), noise_floor_(noise_floor) {}

  void solve(const std::vector<const Column*>& columns, int rounds = 3) {
    weights_.assign(target_.size(), 1.);
    for (int round = 0; round < rounds; ++round) {
      orthogonalise(columns);
      rescale();
    }
  }

  // Call before `gain`; the weights are those of the last round's start.
  void prepare_gains() {
    square_weights_ = used_weights_, twice_weighted_residual_ = weighted_residual_, weighted_basis_ = basis_;
    for (double& w : square_weights_) w *= w;
    for (size_t i = 0; i < target_.size(); ++i) twice_weighted_residual_[i] *= used_weights_[i];
    for (Column& q : weighted_basis_)
      for (size_t i = 0; i < q.size(); ++i) q[i] *= used_weights_[i];
  }

  double log_likelihood() const {
    double sum = -double(target_.size()) * std::log(scale_);
    for (double r : residual_) sum -= (tail + 1) / 2 * std::log1p(r * r / (tail * scale_ * scale_));
    return sum;
  }

  // How much of the weighted residual a further column would explain, signed like its coefficient.
  double gain(const Column& column) const {
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

  double weighted_sum_of_squares() const { return dot(weighted_residual_, weighted_residual_); }
  double scale() const { return scale_; }
  double last_coefficient() const { return last_coefficient_; }
  double last_error() const {
    double freedom = std::max(1., double(target_.size()) - double(basis_.size()));
    return scale_ / last_norm_ * std::sqrt(double(target_.size()) / freedom);
  }

 private:
  void orthogonalise(const std::vector<const Column*>& columns) {
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
  void rescale() {
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

  const Column& target_;
  double noise_floor_;
  std::vector<Column> basis_, weighted_basis_;
  Column weights_, used_weights_, square_weights_, twice_weighted_residual_, residual_, weighted_residual_;
  double scale_ = 1, last_coefficient_ = 0, last_norm_ = 1;
};

// A benign shape may go either way where memory can be given back as well as taken; the others only rise.
bool may_fall(Family family) { return family == Family::fill || family == Family::step || family == Family::wave; }

// Forward selection of nuisance shapes, with or without a rise to the end, at one correlation of the noise.
class Search {
 public:
  Search(std::span<const double> u, const std::vector<Shape>& nuisances, std::span<const double> z, double rho, double noise_floor)
      : nuisances_(nuisances), rho_(rho), noise_floor_(noise_floor), target_(whitened(z, rho)),
        constant_(whitened(Column(u.size(), 1.), rho)), fit_(target_, noise_floor) {
    for (const Shape& s : nuisances_) white_.push_back(whitened(s.values, rho));
  }

  Fit best(const Shape* rise, std::vector<const Shape*> start) {
    rise_ = rise;
    if (rise) rising_ = whitened(rise->values, rho_);
    Fit best = solved(start);
    // A floor of few points can bear few shapes.
    const size_t most = std::min<size_t>(4, (target_.size() - std::min<size_t>(target_.size(), 4)) / 4) + (rise ? 0 : 1);
    while (best.shapes.size() < most) {
      // Outliers under the present weights may be the very shape to add: look with and without the weights.
      Fit next;
      size_t before = nuisances_.size();
      for (int rounds : {3, 1}) {
        if (rise && rounds == 1) continue;
        fit_.solve(columns(best.shapes), rounds);
        size_t pick = most_useful();
        if (pick == nuisances_.size() || pick == before) continue;
        before = pick;
        std::vector<const Shape*> shapes = best.shapes;
        shapes.push_back(&nuisances_[pick]);
        Fit fit = solved(shapes);
        if (fit.score > next.score) next = fit;
      }
      if (next.score <= best.score) break;
      best = next;
    }
    return best;
  }

 private:
  std::vector<const Column*> columns(const std::vector<const Shape*>& shapes) const {
    std::vector<const Column*> out{&constant_};
    for (const Shape* s : shapes) out.push_back(&white_[size_t(s - nuisances_.data())]);
    if (rise_) out.push_back(&rising_);  // last, so that its coefficient and error can be read off
    return out;
  }

  Fit solved(const std::vector<const Shape*>& shapes) {
    fit_.solve(columns(shapes), 3);
    Fit out;
    out.score = fit_.log_likelihood() + .5 * std::log(1 - rho_ * rho_) - (rise_ ? rise_->cost : 0);
    for (const Shape* s : shapes) out.score -= s->cost;
    out.correlation = rho_;
    out.noise = fit_.scale();
    out.shapes = shapes;
    if (rise_) {
      out.onset = rise_->from;
      out.accelerating = rise_->family == Family::acceleration;
      out.rise = fit_.last_coefficient();
      out.rise_error = fit_.last_error();
    }
    return out;
  }

  bool allowed(Family family, double frequency, bool falls) const {
    if (!rise_) return !falls || may_fall(family);
    // Beside a rise, slow waves and losses would turn a cache that stopped or a saw-tooth into a leak.
    return family == Family::wave ? frequency >= 3 : !falls;
  }

  size_t most_useful() {
    fit_.prepare_gains();
    const double size = double(target_.size()), rss = fit_.weighted_sum_of_squares() + .1 * size * noise_floor_ * noise_floor_;
    double most = 0;
    size_t pick = nuisances_.size();
    for (size_t i = 0; i < nuisances_.size(); ++i) {
      const Shape& shape = nuisances_[i];
      if (!allowed(shape.family, shape.from, false)) continue;
      double gain = fit_.gain(white_[i]);
      if (gain < 0 && !allowed(shape.family, shape.from, true)) continue;
      double worth = -.5 * size * std::log(std::max(1e-12, 1 - std::abs(gain) / rss)) - shape.cost;
      if (worth > most) most = worth, pick = i;
    }
    return pick;
  }

  const std::vector<Shape>& nuisances_;
  double rho_, noise_floor_;
  Column target_, constant_, rising_;
  std::vector<Column> white_;
  const Shape* rise_ = nullptr;
  RobustFit fit_;
};

double log_sum(const std::vector<double>& scores) {
  double most = *std::max_element(scores.begin(), scores.end()), sum = 0;
  for (double s : scores) sum += std::exp(s - most);
  return most + std::log(sum);
}

}  // namespace

ShapeLibrary::ShapeLibrary(std::vector<double> u) : u_(std::move(u)) {
  auto add = [&](std::vector<Shape>& to, Family family, double a, double b, const std::function<double(double)>& f) {
    Shape shape{family, a, b, 0, {}};
    for (double x : u_) shape.values.push_back(f(x));
    to.push_back(std::move(shape));
  };
  for (double tau : {.01, .02, .035, .06, .1, .15, .22, .32})
    add(nuisances_, Family::warm_up, tau, 1, [&](double x) { return 1 - std::exp(-x / tau); });
  for (double tau : {.0005, .002, .007, .02, .06})
    add(nuisances_, Family::logarithm, tau, 1, [&](double x) { return std::log1p(x / tau) / std::log1p(1 / tau); });
  for (double stop : {.2, .35, .5, .65, .8})
    add(nuisances_, Family::root, 0, stop, [&](double x) { return std::sqrt(std::clamp(x / stop, 0., 1.)); });
  for (int a = 0; a <= 16; ++a)
    for (int b = a + 1; b <= 17; b += b - a < 4 ? 1 : 2) {
      double from = a * .05, to = b * .05;
      add(nuisances_, Family::fill, from, to, [&](double x) { return std::clamp((x - from) / (to - from), 0., 1.); });
    }
  for (size_t i = 1; i < u_.size(); ++i) {
    double at = (u_[i] + u_[i - 1]) / 2;
    add(nuisances_, Family::step, at, at, [&](double x) { return x > at ? 1. : 0.; });
  }
  for (double cycles : {1., 1.5, 2., 2.5, 3., 3.5, 4., 5., 6., 7., 8.})
    if (cycles * 3 <= double(u_.size()))
    for (double phase : {0., .25})
      add(nuisances_, Family::wave, cycles, phase,
          [&](double x) { return std::sin(2 * std::numbers::pi * (cycles * x + phase)); });
  for (double onset : {0., .05, .1, .15, .2, .3, .4, .5, .6, .7, .75, .8}) {
    if (onset > 0 && (1 - onset) * double(u_.size()) < 5) continue;
    add(rises_, Family::rise, onset, 1, [&](double x) { return std::max(0., (x - onset) / (1 - onset)); });
  }
  for (double onset : {0., .3, .6})
    add(rises_, Family::acceleration, onset, 1, [&](double x) {
      double y = std::max(0., (x - onset) / (1 - onset));
      return y * y;
    });
  std::vector<size_t> members(8, 0);
  for (const Shape& s : nuisances_) ++members[size_t(s.family)];
  const double coefficient = .5 * std::log(double(u_.size())), families = std::log(6.);
  for (Shape& s : nuisances_) s.cost = coefficient + std::log(double(members[size_t(s.family)])) + families;
  for (Shape& s : rises_) s.cost = coefficient + std::log(double(rises_.size()));
}

Comparison ShapeLibrary::compare(std::span<const double> z, double noise_floor) const {
  Comparison out;
  std::vector<double> benign_scores, leak_scores;
  for (double rho : correlations) {
    Search search(u_, nuisances_, z, rho, noise_floor);
    Fit leak;
    for (const Shape& rise : rises_) {
      Fit fit = search.best(&rise, {});
      if (fit.rise <= 0) continue;
      leak_scores.push_back(fit.score);
      if (fit.score > leak.score) leak = fit;
    }
    // What serves the leak must be open to the benign explanation too.
    Fit benign = search.best(nullptr, {}), other = search.best(nullptr, leak.shapes);
    if (other.score > benign.score) benign = other;
    benign_scores.push_back(benign.score);
    if (benign.score > out.benign.score) out.benign = benign;
    if (leak.score > out.leak.score) out.leak = leak;
  }
  out.evidence = leak_scores.empty() ? -1e3 : log_sum(leak_scores) - log_sum(benign_scores);
  return out;
}

}  // namespace plimsoll::verdict
