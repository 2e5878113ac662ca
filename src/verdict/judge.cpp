#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "verdict/floor.hpp"
#include "verdict/judge_compact.hpp"
#include "verdict/shapes.hpp"

namespace plimsoll::verdict {
static double env(const char*n,double d){const char*e=getenv(n);return e?atof(e):d;}
static const double noise_share = env("NS",.003), ev_thr=env("EV",4);

static std::string fmt_fit(const Comparison& c) {
  const char* names[] = {"warm", "log", "root", "fill", "step", "wave", "rise", "acc"};
  auto one = [&](const Fit& f) {
    std::string t = fmt::format("[{:.1f} r={} s={:.4f}", f.score, f.correlation, f.noise);
    for (auto* s : f.shapes) t += fmt::format(" {}({:.3g},{:.3g})", names[int(s->family)], s->from, s->to);
    return t + "]";
  };
  return fmt::format("B{} L{} c={} rise={:.4f}+-{:.4f}", one(c.benign), one(c.leak), c.leak.onset, c.leak.rise, c.leak.rise_error);
}

Verdict judge_compact(const CompactSeries& series, const Options& options, const Thresholds&) {
  Verdict v; std::vector<std::unique_ptr<ShapeLibrary>> libs;
  v.samples = series.samples();
  v.limit_bytes = options.limit_bytes;
  if (v.samples < 20) return v;
  auto buckets = series.buckets();
  v.period = dominant_period(buckets);
  const double start = series.first_time(), span = series.last_time() - start;
  double base = 0, ev_sum = 0; int ev_n = 0;
  Comparison c; c.evidence = -1e9;
  static const int scales = int(env("SC", 2)), most = int(env("MOST", 36)); static const double ratio = env("RATIO", .5);
  for (int scale = 0; scale < scales; ++scale) {
  auto points = floor_points(buckets, v.period, static_cast<size_t>(std::lround(most * std::pow(ratio, scale))));
  if (points.size() < 6) continue;
  std::vector<double> u, z, sorted;
  for (auto& p : points) u.push_back((p.time - start) / span), z.push_back(p.bytes);
  sorted = z;
  std::sort(sorted.begin(), sorted.end());
  base = sorted[sorted.size() / 2];
  if (!(base > 0)) { v.kind = Kind::no_leak; return v; }
  for (double& x : z) x = x / base - 1;
  const double range = (sorted.back() - sorted.front()) / base;
  libs.push_back(std::make_unique<ShapeLibrary>(u));
  Comparison one = libs.back()->compare(z, std::max(3e-4, noise_share * range));
  static const double MAXW = env("MAXW", 1);
  ev_sum += one.evidence; ++ev_n; if (one.evidence > c.evidence) c = one;
  if (scale + 1 == scales) c.evidence = MAXW * c.evidence + (1 - MAXW) * ev_sum / ev_n;
  }
  if (base == 0) return v;
  v.evidence = c.evidence;
  v.confidence = 1 / (1 + std::exp(-c.evidence));
  double length = (1 - c.leak.onset) * span;
  v.rate = c.leak.rise * base / length;
  v.rate_low = (c.leak.rise - 2 * c.leak.rise_error) * base / length;
  v.rate_high = (c.leak.rise + 2 * c.leak.rise_error) * base / length;
  v.onset = start + c.leak.onset * span;
  static const double mf = env("MF", .02);
  bool matters = v.matters = c.leak.rise >= mf;
  if (c.evidence > ev_thr && v.rate_low > 0 && matters) v.kind = Kind::leak;
  v.explanation = fmt_fit(c);
  return v;
}

Verdict judge(std::span<const Sample> samples, const Options& options) {
  CompactSeries series;
  for (const Sample& s : cleaned(samples)) series.add(s);
  return judge_compact(series, options, {});
}

const char* kind_name(Kind kind) {
  return kind == Kind::leak ? "leak" : kind == Kind::no_leak ? "no-leak" : "undecided";
}

}  // namespace plimsoll::verdict
