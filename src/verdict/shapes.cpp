#include "verdict/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "verdict/robust_fit.hpp"

namespace plimsoll::verdict {
namespace {

constexpr double negligible = 12, no_evidence = -500;
// The fits' own errors know nothing of how real shapes differ from the library's.
constexpr double error_scale = 2.4, least_error = .02;
constexpr double least_fall = .25;  // of the floor's range, to count as falling back
constexpr int robust_rounds = 3;
constexpr double correlations[] = {0, .35, .65, .85, .98};

// A benign shape may go either way where memory can be given back as well as taken; the others only rise.
bool may_fall(Family family) {
  return family == Family::fill || family == Family::step || family == Family::wave;
}

// Forward selection of nuisance shapes, with or without a rise to the end, at one correlation of the noise.
class Search {
 public:
  Search(std::span<const double> u, const std::vector<Shape>& nuisances, std::span<const double> z,
         double rho, double noise_floor)
      : nuisances_(nuisances),
        rho_(rho),
        noise_floor_(noise_floor),
        target_(whitened(z, rho)),
        constant_(whitened(Column(u.size(), 1.), rho)),
        fit_(target_, noise_floor) {
    for (const Shape& s : nuisances_) white_.push_back(whitened(s.values, rho));
  }

  struct Found {
    Fit fit;
    std::vector<const Shape*> shapes;
  };

  Found best(const Shape* rise, const std::vector<const Shape*>& start) {
    rise_ = rise;
    if (rise) rising_ = whitened(rise->values, rho_);
    Found best = solved(start);
    // A floor of few points can bear few shapes.
    const size_t most =
        std::min<size_t>(4, (target_.size() - std::min<size_t>(target_.size(), 4)) / 4) + (rise ? 0 : 1);
    while (best.shapes.size() < most) {
      // Outliers under the present weights may be the very shape to add: look with and without the weights.
      Found next;
      size_t before = nuisances_.size();
      for (int rounds : {robust_rounds, 1}) {
        if (rise && rounds == 1) continue;  // many rises are tried; for one this is worth the time
        fit_.solve(columns(best.shapes), rounds);
        size_t pick = most_useful();
        if (pick == nuisances_.size() || pick == before) continue;
        before = pick;
        std::vector<const Shape*> shapes = best.shapes;
        shapes.push_back(&nuisances_[pick]);
        Found found = solved(shapes);
        if (found.fit.score > next.fit.score) next = std::move(found);
      }
      if (next.fit.score <= best.fit.score) break;
      best = std::move(next);
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

  Found solved(const std::vector<const Shape*>& shapes) {
    fit_.solve(columns(shapes), robust_rounds);
    Found out{{}, shapes};
    Fit& fit = out.fit;
    fit.score = fit_.log_likelihood() + .5 * std::log(1 - rho_ * rho_) - (rise_ ? rise_->cost : 0);
    for (const Shape* s : shapes) {
      fit.score -= s->cost;
      fit.shapes.push_back(*s);
    }
    fit.correlation = rho_;
    fit.noise = fit_.scale();
    if (rise_) {
      fit.onset = rise_->from;
      fit.accelerating = rise_->family == Family::acceleration;
      fit.rise = fit_.last_coefficient();
      fit.rise_error = fit_.last_error();
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
    const double size = double(target_.size()),
                 rss = fit_.weighted_sum_of_squares() + .1 * size * noise_floor_ * noise_floor_;
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

// What the leaking explanations say of the rate, each by its weight: a mixture of normal distributions.
class RateMixture {
 public:
  RateMixture(const std::vector<Fit>& leaks, double best) {
    for (const Fit& fit : leaks)
      if (fit.score > best - negligible)
        parts_.push_back(
            {std::exp(fit.score - best), fit.rise / (1 - fit.onset),
             std::max(error_scale * fit.rise_error, least_error * std::abs(fit.rise)) / (1 - fit.onset) +
                 1e-12});
  }
  double quantile(double share) const {
    double low = parts_.front().rate, high = low, weight = 0;
    for (const Part& p : parts_) {
      low = std::min(low, p.rate - 6 * p.error), high = std::max(high, p.rate + 6 * p.error);
      weight += p.weight;
    }
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      double below = 0;
      for (const Part& p : parts_)
        below += p.weight * .5 * std::erfc((p.rate - middle) / (p.error * std::numbers::sqrt2));
      (below < share * weight ? low : high) = middle;
    }
    return (low + high) / 2;
  }

 private:
  struct Part {
    double weight, rate, error;
  };
  std::vector<Part> parts_;
};

}  // namespace

namespace {

// A saw-tooth too long for the floor's stretches to swallow: the floor itself falls back, again and again.
// Its teeth are read off the floor, so one shape serves any period; empty where nothing falls.
std::vector<double> teeth(const std::vector<double>& u, std::span<const double> z) {
  std::vector<double> sorted(z.begin(), z.end()), resets;
  std::sort(sorted.begin(), sorted.end());
  const double range = sorted[sorted.size() - 1 - sorted.size() / 20] - sorted[sorted.size() / 20];
  for (size_t i = 1; i < z.size(); ++i)
    if (z[i] - z[i - 1] < -least_fall * range) resets.push_back((u[i] + u[i - 1]) / 2);
  if (resets.empty()) return {};
  const double period =
      resets.size() > 1 ? (resets.back() - resets.front()) / double(resets.size() - 1) : resets.front();
  std::vector<double> values;
  size_t next = 0;
  double last = resets.front() - period;
  for (double x : u) {
    while (next < resets.size() && x > resets[next]) last = resets[next++];
    values.push_back((x - last) / period);
  }
  return values;
}

}  // namespace

ShapeLibrary::ShapeLibrary(std::vector<double> u, Caution caution) : u_(std::move(u)) {
  auto add = [&](std::vector<Shape>& to, Family family, double a, double b,
                 const std::function<double(double)>& f) {
    Shape shape{{family, a, b}, 0, {}};
    for (double x : u_) shape.values.push_back(f(x));
    to.push_back(std::move(shape));
  };
  for (double tau : {.01, .02, .035, .06, .1, .15, .22, .32})
    add(nuisances_, Family::warm_up, tau, 1, [&](double x) { return 1 - std::exp(-x / tau); });
  for (double tau : {.0005, .002, .007, .02, .06})
    add(nuisances_, Family::logarithm, tau, 1,
        [&](double x) { return std::log1p(x / tau) / std::log1p(1 / tau); });
  for (double stop : {.2, .35, .5, .65, .8})
    add(nuisances_, Family::root, 0, stop, [&](double x) { return std::sqrt(std::clamp(x / stop, 0., 1.)); });
  if (caution == Caution::while_running) {
    for (double tau : {.5, .8})
      add(nuisances_, Family::warm_up, tau, 1, [&](double x) { return 1 - std::exp(-x / tau); });
    for (double tau : {.15, .4})
      add(nuisances_, Family::logarithm, tau, 1,
          [&](double x) { return std::log1p(x / tau) / std::log1p(1 / tau); });
    add(nuisances_, Family::root, 0, 1, [&](double x) { return std::sqrt(std::max(0., x)); });
  }
  for (int a = 0; a <= 16; ++a)
    for (int b = a + 1; b <= 17; b += b - a < 4 ? 1 : 2) {
      double from = a * .05, to = b * .05;
      add(nuisances_, Family::fill, from, to,
          [&](double x) { return std::clamp((x - from) / (to - from), 0., 1.); });
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
  std::vector<size_t> members(size_t(Family::acceleration) + 1, 0);
  for (const Shape& s : nuisances_) ++members[size_t(s.family)];
  const double coefficient = .5 * std::log(double(u_.size())), families = std::log(6.);
  for (Shape& s : nuisances_) s.cost = coefficient + std::log(double(members[size_t(s.family)])) + families;
  for (Shape& s : rises_) s.cost = coefficient + std::log(double(rises_.size()));
}

Comparison ShapeLibrary::compare(std::span<const double> z, double noise_floor) const {
  Comparison out;
  std::vector<double> benign_scores, leak_scores;
  std::vector<Fit> leaks;
  std::vector<Shape> nuisances = nuisances_;
  if (std::vector<double> saw = teeth(u_, z); !saw.empty())
    nuisances.push_back({{Family::saw_tooth, 0, 1}, 2.5 * std::log(double(u_.size())), std::move(saw)});
  for (double rho : correlations) {
    Search search(u_, nuisances, z, rho, noise_floor);
    Search::Found leak;
    for (const Shape& rise : rises_) {
      Search::Found found = search.best(&rise, {});
      if (rise.family == Family::rise && rise.from == 0 && found.fit.score > out.steady.score)
        out.steady = found.fit;
      if (found.fit.rise <= 0) continue;
      leak_scores.push_back(found.fit.score);
      leaks.push_back(found.fit);
      if (found.fit.score > leak.fit.score) leak = std::move(found);
    }
    // What serves the leak must be open to the benign explanation too.
    Search::Found benign = search.best(nullptr, {}), other = search.best(nullptr, leak.shapes);
    if (other.fit.score > benign.fit.score) benign = std::move(other);
    benign_scores.push_back(benign.fit.score);
    if (benign.fit.score > out.benign.score) out.benign = benign.fit;
    if (leak.fit.score > out.leak.score) out.leak = leak.fit;
  }
  if (leaks.empty()) {
    out.evidence = no_evidence;
    return out;
  }
  out.evidence = std::clamp(log_sum(leak_scores) - log_sum(benign_scores), no_evidence, -no_evidence);
  const RateMixture rates(leaks, out.leak.score);
  out.rate = rates.quantile(.5), out.rate_low = rates.quantile(.025), out.rate_high = rates.quantile(.975);
  return out;
}

}  // namespace plimsoll::verdict
