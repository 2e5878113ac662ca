#include "verdict/generator.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <random>

namespace plimsoll::verdict {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  double uniform() { return double(engine_() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  double log_between(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }
  int whole(int low, int high) { return low + int(uniform() * (high - low + 1)); }
  bool chance(double p) { return uniform() < p; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  double student(double degrees) {  // Bailey's polar form
    double u = 1 - uniform();
    return std::sqrt(degrees * (std::pow(u, -2 / degrees) - 1)) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

struct Range {
  double low, high;
};

// Everything is in units of the run's length (time) and the base (bytes).
struct Limits {
  Range samples, noise, correlation, tail, growth, spike_height, saw_size, saw_period, warm_size, warm_time,
      step_size, fill_time, fill_size, onset, epochs, drift, log_time, stairs;
  double heavy, spikes, saw, warm, step, missing, lost;
};

const Limits& limits(Ranges ranges) {
  static const Limits development{.samples = {120, 3000},
                                  .noise = {.0005, .012},
                                  .correlation = {.3, .97},
                                  .tail = {2.5, 6},
                                  .growth = {.01, .6},
                                  .spike_height = {.05, .7},
                                  .saw_size = {.02, .25},
                                  .saw_period = {.015, .12},
                                  .warm_size = {.05, .4},
                                  .warm_time = {.005, .07},
                                  .step_size = {.03, .25},
                                  .fill_time = {.1, .6},
                                  .fill_size = {.05, .5},
                                  .onset = {.2, .65},
                                  .epochs = {3, 9},
                                  .drift = {.005, .04},
                                  .log_time = {.002, .05},
                                  .stairs = {6, 25},
                                  .heavy = .3,
                                  .spikes = .5,
                                  .saw = .35,
                                  .warm = .3,
                                  .step = .25,
                                  .missing = .5,
                                  .lost = .3};
  static const Limits held_out{.samples = {90, 12000},
                               .noise = {.0002, .02},
                               .correlation = {0, .99},
                               .tail = {1.6, 4},
                               .growth = {.02, .8},
                               .spike_height = {.1, 1.5},
                               .saw_size = {.01, .4},
                               .saw_period = {.008, .15},
                               .warm_size = {.02, .6},
                               .warm_time = {.002, .1},
                               .step_size = {.02, .4},
                               .fill_time = {.05, .75},
                               .fill_size = {.03, .8},
                               .onset = {.1, .75},
                               .epochs = {2.5, 12},
                               .drift = {.003, .05},
                               .log_time = {.0005, .08},
                               .stairs = {5, 40},
                               .heavy = .5,
                               .spikes = .6,
                               .saw = .4,
                               .warm = .35,
                               .step = .3,
                               .missing = .6,
                               .lost = .5};
  return ranges == Ranges::development ? development : held_out;
}

using Curve = std::function<double(double)>;  // u in [0, 1] -> bytes / base

struct Scene {
  Draw& draw;
  const Limits& range;
  double growth = 0, onset = 0;
  double pick(Range r) { return draw.between(r.low, r.high); }
  double pick_log(Range r) { return draw.log_between(r.low, r.high); }
};

Curve zero() {
  return [](double) { return 0.; };
}

Curve steps(Scene& s, int count) {
  std::vector<std::pair<double, double>> at;
  for (int i = 0; i < count; ++i) at.push_back({s.draw.between(.08, .92), s.pick(s.range.step_size)});
  return [at](double u) {
    double sum = 0;
    for (auto [when, size] : at) sum += u >= when ? size : 0;
    return sum;
  };
}

Curve fill(Scene& s, double start) {
  double stop = start + s.pick(s.range.fill_time) * (1 - start), size = s.pick(s.range.fill_size);
  return [=](double u) { return size * std::clamp((u - start) / (stop - start), 0., 1.); };
}

Curve saturating(Scene& s, Range time, Range size) {
  double tau = s.pick(time), a = s.pick(size);
  return [=](double u) { return a * (1 - std::exp(-u / tau)); };
}

Curve logarithm(Scene& s, double size) {
  double tau = s.pick_log(s.range.log_time);
  return [=](double u) { return size * std::log1p(u / tau) / std::log1p(1 / tau); };
}

// Falls back to the floor after each rise; every period a little different.
Curve sawtooth(Scene& s, double size, double period, double jitter, bool sharp) {
  std::vector<double> resets{-period * s.draw.uniform()};
  std::vector<double> sizes;
  while (resets.back() < 1) {
    resets.push_back(resets.back() + period * (1 + jitter * s.draw.between(-1, 1)));
    sizes.push_back(size * (1 + jitter * s.draw.between(-1, 1)));
  }
  return [=](double u) {
    size_t i = size_t(std::upper_bound(resets.begin(), resets.end(), u) - resets.begin());
    i = std::clamp<size_t>(i, 1, sizes.size()) - 1;
    double phase = std::clamp((u - resets[i]) / (resets[i + 1] - resets[i]), 0., 1.);
    return sizes[i] * (sharp ? phase : .5 - .5 * std::cos(2 * std::numbers::pi * phase));
  };
}

Curve ornstein(Scene& s, double deviation, double time) {
  const int grid = 4000;
  std::vector<double> path(grid + 1);
  double rho = std::exp(-1. / (grid * time));
  path[0] = deviation * s.draw.normal();
  for (int i = 1; i <= grid; ++i)
    path[i] = rho * path[i - 1] + deviation * std::sqrt(1 - rho * rho) * s.draw.normal();
  return [path](double u) { return path[size_t(std::clamp(u, 0., 1.) * 4000)]; };
}

Curve temporary_bursts(Scene& s) {
  std::vector<std::array<double, 3>> bursts;
  int count = s.draw.whole(3, 9);
  for (int i = 0; i < count; ++i)
    bursts.push_back({s.draw.uniform(), s.draw.between(.01, .06), s.pick(s.range.spike_height)});
  return [bursts](double u) {
    double most = 0;
    for (auto [start, width, size] : bursts)
      if (u >= start && u < start + width) most = std::max(most, size);
    return most;
  };
}

Curve ramp(double growth, double onset) {
  return [=](double u) { return growth * std::max(0., (u - onset) / (1 - onset)); };
}

Curve stairs(Scene& s, double growth, int count, double jitter) {
  std::vector<double> at(count), size(count);
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    at[i] = (i + .6 + jitter * s.draw.between(-.4, .4)) / count;
    sum += size[i] = 1 + jitter * s.draw.between(-.6, .6);
  }
  return [=](double u) {
    double total = 0;
    for (int i = 0; i < count; ++i) total += u >= at[i] ? size[i] : 0;
    return growth * total / sum;
  };
}

Curve sum(Curve a, Curve b) {
  return [a = std::move(a), b = std::move(b)](double u) { return a(u) + b(u); };
}

using Maker = std::function<Curve(Scene&)>;

const std::vector<std::pair<std::string, Maker>>& benign() {
  static const std::vector<std::pair<std::string, Maker>> makers{
      {"flat", [](Scene&) { return zero(); }},
      {"wandering", [](Scene& s) { return ornstein(s, s.pick(s.range.drift), s.draw.between(.01, .08)); }},
      {"collector saw-tooth",
       [](Scene& s) {
         return sawtooth(s, s.pick(s.range.saw_size), s.pick(s.range.saw_period), s.draw.between(0, .4),
                         true);
       }},
      {"warm-up",
       [](Scene& s) {
         return saturating(s, {.02, .15}, s.range.warm_size);
       }},
      {"one step", [](Scene& s) { return steps(s, 1); }},
      {"several steps", [](Scene& s) { return steps(s, s.draw.whole(2, 3)); }},
      {"cache that fills and stops", [](Scene& s) { return fill(s, 0); }},
      {"cache that fills later", [](Scene& s) { return fill(s, s.draw.between(.1, .4)); }},
      {"cache with fewer and fewer misses",
       [](Scene& s) {
         return saturating(s, {.08, .25}, s.range.fill_size);
       }},
      {"epochs",
       [](Scene& s) {
         return sawtooth(s, s.pick(s.range.saw_size), 1 / s.pick(s.range.epochs), 0, s.draw.chance(.5));
       }},
      {"logarithmic fragmentation", [](Scene& s) { return logarithm(s, s.pick(s.range.fill_size)); }},
      {"validation spikes",
       [](Scene& s) {
         double period = s.draw.between(.03, .15), duty = s.draw.between(.05, .35),
                size = s.pick(s.range.spike_height);
         return Curve([=](double u) { return std::fmod(u, period) > period * (1 - duty) ? size : 0; });
       }},
      {"shrinking",
       [](Scene& s) {
         double size = s.draw.between(.03, .3);
         return Curve([=](double u) { return -size * u; });
       }},
      {"bursts given back", [](Scene& s) { return temporary_bursts(s); }},
      {"fragmentation and a step",
       [](Scene& s) { return sum(logarithm(s, s.pick(s.range.warm_size)), steps(s, 1)); }},
      {"square root that levels off",
       [](Scene& s) {
         double stop = s.draw.between(.3, .7), size = s.pick(s.range.fill_size);
         return Curve([=](double u) { return size * std::sqrt(std::min(u, stop) / stop); });
       }},
      {"workload that comes and goes",
       [](Scene& s) {
         double start = s.draw.between(.05, .5), length = s.draw.between(.15, .4),
                size = s.pick(s.range.step_size);
         return Curve([=](double u) { return u > start && u < start + length ? size : 0; });
       }},
  };
  return makers;
}

const std::vector<std::pair<std::string, Maker>>& leaking() {
  static const std::vector<std::pair<std::string, Maker>> makers{
      {"steady", [](Scene& s) { return ramp(s.growth, 0); }},
      {"slow under validation spikes",
       [](Scene& s) {
         double period = s.draw.between(.03, .12), duty = s.draw.between(.1, .4),
                size = s.pick(s.range.spike_height);
         Curve spikes = [=](double u) { return std::fmod(u, period) > period * (1 - duty) ? size : 0; };
         return sum(ramp(s.growth, 0), spikes);
       }},
      {"staircase after each validation",
       [](Scene& s) { return stairs(s, s.growth, int(s.pick_log(s.range.stairs)), .1); }},
      {"late start",
       [](Scene& s) {
         s.onset = s.pick(s.range.onset);
         return ramp(s.growth, s.onset);
       }},
      {"accelerating",
       [](Scene& s) {
         double power = s.draw.between(1.3, 2.2);
         return Curve([=, growth = s.growth](double u) { return growth * std::pow(u, power); });
       }},
      {"under a saw-tooth",
       [](Scene& s) {
         return sum(ramp(s.growth, 0), sawtooth(s, s.pick(s.range.saw_size), s.pick(s.range.saw_period),
                                                s.draw.between(0, .4), true));
       }},
      {"after a warm-up",
       [](Scene& s) { return sum(ramp(s.growth, 0), saturating(s, s.range.warm_time, s.range.warm_size)); }},
      {"in bursts", [](Scene& s) { return stairs(s, s.growth, s.draw.whole(8, 30), .8); }},
      {"with partial releases",
       [](Scene& s) {
         return sum(ramp(s.growth, 0),
                    sawtooth(s, s.growth * s.draw.between(.05, .2), s.draw.between(.04, .12), .4, true));
       }},
      {"under fragmentation",
       [](Scene& s) { return sum(ramp(s.growth, 0), logarithm(s, s.draw.between(.02, .2))); }},
      {"under wandering",
       [](Scene& s) {
         return sum(ramp(s.growth, 0), ornstein(s, .5 * s.pick(s.range.drift), s.draw.between(.01, .04)));
       }},
      {"with a step", [](Scene& s) { return sum(ramp(s.growth, 0), steps(s, 1)); }},
      {"once per epoch",
       [](Scene& s) {
         int epochs = s.draw.whole(6, 14);
         double size = s.draw.between(.02, .1);
         Curve epoch = [=](double u) { return size * std::fmod(u * epochs, 1.); };
         return sum(stairs(s, s.growth, epochs, 0), epoch);
       }},
      {"late under a saw-tooth",
       [](Scene& s) {
         s.onset = s.pick(s.range.onset);
         return sum(ramp(s.growth, s.onset), sawtooth(s, s.pick(s.range.saw_size), s.draw.between(.01, .06),
                                                      s.draw.between(0, .4), true));
       }},
  };
  return makers;
}

std::vector<std::string> names(const std::vector<std::pair<std::string, Maker>>& makers) {
  std::vector<std::string> result;
  for (auto& [name, maker] : makers) result.push_back(name);
  return result;
}

}  // namespace

const std::vector<std::string>& benign_shapes() {
  static const std::vector<std::string> all = names(benign());
  return all;
}

const std::vector<std::string>& leaking_shapes() {
  static const std::vector<std::string> all = names(leaking());
  return all;
}

GeneratedSeries generate(const std::string& shape, uint64_t seed, Ranges ranges) {
  Draw draw(seed * 7919 + std::hash<std::string>{}(shape)*31 + (ranges == Ranges::held_out ? 1'000'003 : 0));
  const Limits& range = limits(ranges);
  Scene scene{draw, range};
  const double base = draw.log_between(30e6, 50e9);
  const double length = draw.log_between(60, 600000);
  const int count = int(scene.pick_log(range.samples));

  // Nuisances first: they know nothing of the truth.
  Curve extra = zero();
  if (draw.chance(range.warm)) extra = sum(extra, saturating(scene, range.warm_time, range.warm_size));
  if (draw.chance(range.step)) extra = sum(extra, steps(scene, 1));
  if (draw.chance(range.saw))
    extra = sum(extra, sawtooth(scene, scene.pick(range.saw_size), draw.between(range.saw_period.low, .07),
                                draw.between(0, .4), true));
  const double sigma = scene.pick_log(range.noise), rho = draw.chance(.5) ? scene.pick(range.correlation) : 0;
  const double tail = draw.chance(range.heavy) ? scene.pick(range.tail) : 0;
  const double spike_share = draw.chance(range.spikes) ? draw.log_between(.003, .08) : 0;
  const double spike_height = scene.pick(range.spike_height);
  const double lost = draw.chance(range.missing) ? draw.between(0, range.lost) : 0;
  const double jitter = draw.chance(.5) ? draw.between(0, .9) : 0;

  GeneratedSeries out;
  out.shape = shape;
  Curve curve;
  for (auto& [name, maker] : benign())
    if (name == shape) curve = maker(scene);
  for (auto& [name, maker] : leaking())
    if (name == shape) {
      // Half of them evenly spread, half crowding towards the small ones, which are the hard ones.
      scene.growth = draw.chance(.5) ? scene.pick_log(range.growth) : scene.pick(range.growth);
      curve = maker(scene);
      out.truth = {true, scene.growth, scene.onset * length, length,
                   scene.growth * base / (length * (1 - scene.onset))};
    }

  double noise = 0;
  int spike_left = 0;
  double spike = 0;
  for (int i = 0; i < count; ++i) {
    double u = std::clamp((i + jitter * draw.between(-.5, .5)) / (count - 1), 0., 1.);
    double shock = tail > 0 ? draw.student(tail) * .7 : draw.normal();
    noise = rho * noise + std::sqrt(1 - rho * rho) * sigma * shock;
    if (spike_left == 0 && draw.chance(spike_share)) {
      spike_left = draw.whole(1, std::max(1, std::min(6, count / 60)));
      spike = spike_height * draw.between(.5, 1.5);
    }
    double value = 1 + curve(u) + extra(u) + noise + (spike_left > 0 ? spike : 0);
    if (spike_left > 0) --spike_left;
    if (draw.chance(lost)) continue;
    out.samples.push_back({u * length, std::max(0., value) * base});
  }
  return out;
}

}  // namespace plimsoll::verdict
