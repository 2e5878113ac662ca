#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels::reference {
namespace {

// The probabilities of one query over the first `keys` keys; returns their log-sum-exp.
double probabilities(const float* q, const float* k, int64_t k_row, int64_t width, int64_t keys,
                     std::vector<double>& p) {
  p.assign(static_cast<size_t>(keys), 0);
  double top = -1e300, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    double dot = 0;
    for (int64_t i = 0; i < width; ++i) dot += double(q[i]) * k[j * k_row + i];
    p[size_t(j)] = dot / std::sqrt(double(width));
    top = std::max(top, p[size_t(j)]);
  }
  for (double& x : p) sum += x = std::exp(x - top);
  for (double& x : p) x /= sum;
  return top + std::log(sum);
}

double mask(const AttentionDropout& d, int64_t index) {
  if (d.threshold == 0) return 1;
  return dropout_hash(d.key, d.first + static_cast<uint32_t>(index)) >= d.threshold ? d.scale : 0;
}

}  // namespace

void attention(const Attention& a, float*) {
  std::vector<double> p;
  for (int64_t t = a.first; t < a.end; ++t) {
    const int64_t first = first_key(a.positions, t), keys = a.causal ? t + 1 : a.length;
    a.lse[t] = static_cast<float>(
        probabilities(a.q + t * a.q_row, a.k + first * a.k_row, a.k_row, a.width, keys - first, p));
    for (int64_t i = 0; i < a.width; ++i) {
      double sum = 0;
      for (int64_t j = first; j < keys; ++j)
        sum += p[size_t(j - first)] * mask(a.dropout, t * a.length + j) * a.v[j * a.v_row + i];
      a.out[t * a.out_row + i] = static_cast<float>(sum);
    }
  }
}

void attention_backward(const AttentionBackward& a, float*) {
  const auto size = static_cast<size_t>(a.length * a.width);
  std::vector<double> p, dq(size), dk(size), dv(size);
  const double scale = 1 / std::sqrt(double(a.width));
  for (int64_t t = 0; t < a.length; ++t) {
    const float* dout = a.dout + t * a.out_row;
    const int64_t first = first_key(a.positions, t), keys = a.causal ? t + 1 : a.length;
    probabilities(a.q + t * a.q_row, a.k + first * a.k_row, a.k_row, a.width, keys - first, p);
    std::vector<double> dp(p.size());
    double shared = 0;
    for (int64_t j = first; j < keys; ++j) {
      const double kept = mask(a.dropout, t * a.length + j), probability = p[size_t(j - first)];
      for (int64_t i = 0; i < a.width; ++i) {
        dp[size_t(j - first)] += double(dout[i]) * a.v[j * a.v_row + i] * kept;
        dv[size_t(j * a.width + i)] += probability * kept * dout[i];
      }
      shared += probability * dp[size_t(j - first)];
    }
    for (int64_t j = first; j < keys; ++j) {
      const double ds = p[size_t(j - first)] * (dp[size_t(j - first)] - shared) * scale;
      for (int64_t i = 0; i < a.width; ++i) {
        dq[size_t(t * a.width + i)] += ds * a.k[j * a.k_row + i];
        dk[size_t(j * a.width + i)] += ds * a.q[t * a.q_row + i];
      }
    }
  }
  for (int64_t t = 0; t < a.length; ++t)
    for (int64_t i = a.column; i < a.column + a.columns; ++i) {
      const auto from = static_cast<size_t>(t * a.width + i);
      float &to_k = a.dk[t * a.dk_row + i], &to_v = a.dv[t * a.dv_row + i];
      a.dq[t * a.dq_row + i] = static_cast<float>(dq[from]);
      to_k = static_cast<float>(dk[from] + (a.accumulate ? to_k : 0));
      to_v = static_cast<float>(dv[from] + (a.accumulate ? to_v : 0));
    }
}

void attention_cached(const AttentionCached& a) {
  std::vector<double> p;
  probabilities(a.q, a.k, a.k_row, a.width, a.length, p);
  for (int64_t i = 0; i < a.width; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < a.length; ++t) sum += p[size_t(t)] * a.v[t * a.v_row + i];
    a.out[i] = static_cast<float>(sum);
  }
}

}  // namespace plimsoll::kernels::reference
