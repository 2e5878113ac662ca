// dev scorer
#include <fmt/format.h>
#include <chrono>
#include <cstring>
#include <map>
#include <cmath>
#include <algorithm>
#include "verdict/generator.hpp"
using namespace plimsoll::verdict;
int main(int argc, char** argv) {
  int each = argc > 1 ? atoi(argv[1]) : 30;
  Ranges ranges = argc > 2 && !strcmp(argv[2], "held") ? Ranges::held_out : Ranges::development;
  bool verbose = argc > 3;
  double slowest = 0, total = 0; int n = 0;
  int fp = 0, nb = 0; std::vector<double> be; std::vector<std::pair<double,double>> le; auto eff=[](const Verdict& v){return v.rate>0?v.evidence:-99.;};
  for (auto& shape : benign_shapes()) {
    int bad = 0;
    for (int i = 0; i < each; ++i) {
      auto s = generate(shape, i, ranges);
      auto t0 = std::chrono::steady_clock::now();
      auto v = judge(s.samples);
      double dt = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
      slowest = std::max(slowest, dt), total += dt, ++n;
      be.push_back(eff(v));
      if (v.kind == Kind::leak) { ++bad; if (verbose) fmt::print("FP {} {} n={} ev={:.1f} P={:.3f} {}\n", shape, i, s.samples.size(), v.evidence, v.period / s.samples.back().time, v.explanation); }
    }
    fmt::print("{:40} {:.3f}\n", shape, double(bad) / each);
    fp += bad, nb += each;
  }
  std::map<int, std::pair<int, int>> classes;
  std::vector<double> errors;
  for (auto& shape : leaking_shapes()) {
    std::map<int, std::pair<int, int>> cl;
    for (int i = 0; i < each; ++i) {
      auto s = generate(shape, i, ranges);
      auto v = judge(s.samples);
      le.push_back({s.truth.growth, eff(v)});
      int c = s.truth.growth < .05 ? 0 : s.truth.growth < .1 ? 1 : s.truth.growth < .2 ? 2 : 3;
      bool hit = v.kind == Kind::leak;
      cl[c].first += hit, cl[c].second++;
      classes[c].first += hit, classes[c].second++;
      if (hit) errors.push_back(std::abs(v.rate / s.truth.rate - 1));
      if (!hit && c >= 1 && verbose) fmt::print("FN {} {} g={:.3f} n={} ev={:.1f} P={:.3f} {}\n", shape, i, s.truth.growth, s.samples.size(), v.evidence, v.period / s.samples.back().time, v.explanation);
    }
    fmt::print("{:40}", shape);
    for (int c = 0; c < 4; ++c) fmt::print(" {:2}/{:2}", cl[c].first, cl[c].second);
    fmt::print("\n");
  }
  for (double th : {2., 3., 4., 5., 6., 8., 10., 13.}) {
    int f = 0, a = 0, an = 0, b = 0, bn = 0;
    for (double e : be) f += e > th;
    for (auto [g, e] : le) if (g >= .1) a += e > th, ++an; else if (g >= .05) b += e > th, ++bn;
    fmt::print("ev>{:4}: FPR {:.4f} TPR>10 {:.3f} TPR5-10 {:.3f}\n", th, double(f) / be.size(), double(a) / an, double(b) / bn);
  }
  std::sort(errors.begin(), errors.end());
  fmt::print("FPR {:.4f}", double(fp) / nb);
  for (int c = 0; c < 4; ++c) fmt::print("  TPR{} {:.3f}", c, double(classes[c].first) / classes[c].second);
  fmt::print("  >=10%: {:.3f} rate err {:.3f}  ms mean {:.2f} max {:.2f}\n", double(classes[2].first + classes[3].first) / (classes[2].second + classes[3].second), errors[errors.size() / 2], 1e3 * total / n, 1e3 * slowest);
}
