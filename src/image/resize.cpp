#include "image/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr int precision = 32 - 8 - 2;
constexpr double lobes = 3;

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}
double lanczos(double x) { return -lobes <= x && x < lobes ? sinc(x) * sinc(x / lobes) : 0; }

// The pixels that make an output pixel, and how much each counts.
struct Taps {
  int64_t most;     // a pixel's
  double* weights;  // [most], while they are made
  int32_t* fixed;   // [out, most]
  int32_t* first;   // [out]
  int32_t* count;   // [out]
};

int64_t most_taps(int64_t from, int64_t to) {
  const double scale = std::max(1.0, double(from) / double(to));
  return int64_t(std::ceil(lobes * scale)) * 2 + 1;
}

uint64_t taps_bytes(int64_t from, int64_t to) {
  const uint64_t most = uint64_t(most_taps(from, to));
  return most * 8 + uint64_t(to) * (most + 2) * 4 + 8;
}

Taps make_taps(int64_t from, int64_t to, uint8_t* memory) {
  Taps taps{};
  taps.most = most_taps(from, to);
  taps.weights = reinterpret_cast<double*>(memory);
  taps.fixed = reinterpret_cast<int32_t*>(memory + taps.most * 8);
  taps.first = taps.fixed + to * taps.most;
  taps.count = taps.first + to;
  const double scale = double(from) / double(to), widened = std::max(scale, 1.0), support = lobes * widened;
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (double(i) + 0.5) * scale, step = 1.0 / widened;
    const auto begin = std::max<int64_t>(int64_t(centre - support + 0.5), 0);
    const auto end = std::min<int64_t>(int64_t(centre + support + 0.5), from);
    double sum = 0;
    for (int64_t k = 0; k < end - begin; ++k) {
      taps.weights[k] = lanczos((double(k + begin) - centre + 0.5) * step);
      sum += taps.weights[k];
    }
    for (int64_t k = 0; k < end - begin; ++k) {
      const double weight = (sum != 0 ? taps.weights[k] / sum : taps.weights[k]) * (1 << precision);
      taps.fixed[i * taps.most + k] = int32_t(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
    taps.first[i] = int32_t(begin);
    taps.count[i] = int32_t(end - begin);
  }
  return taps;
}

uint8_t byte_of(int32_t sum) { return uint8_t(std::clamp(sum >> precision, 0, 255)); }

void across(const uint8_t* in, PixelSize from, uint8_t* out, int64_t width, const Taps& taps) {
  for (int64_t y = 0; y < from.height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const uint8_t* pixel = in + 3 * (y * from.width + taps.first[x]);
      const int32_t* weight = taps.fixed + x * taps.most;
      int32_t r = 1 << (precision - 1), g = r, b = r;
      for (int32_t k = 0; k < taps.count[x]; ++k, pixel += 3) {
        r += pixel[0] * weight[k];
        g += pixel[1] * weight[k];
        b += pixel[2] * weight[k];
      }
      uint8_t* place = out + 3 * (y * width + x);
      place[0] = byte_of(r), place[1] = byte_of(g), place[2] = byte_of(b);
    }
}

void down(const uint8_t* in, uint8_t* out, PixelSize to, const Taps& taps, int32_t* sums) {
  const int64_t row = 3 * to.width;
  for (int64_t y = 0; y < to.height; ++y) {
    std::fill_n(sums, row, 1 << (precision - 1));
    for (int32_t k = 0; k < taps.count[y]; ++k) {
      const int32_t weight = taps.fixed[y * taps.most + k];
      const uint8_t* from = in + (taps.first[y] + k) * row;
      for (int64_t x = 0; x < row; ++x) sums[x] += from[x] * weight;
    }
    for (int64_t x = 0; x < row; ++x) out[y * row + x] = byte_of(sums[x]);
  }
}

uint64_t aligned(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

bool down_first(PixelSize from, PixelSize to) {
  return from.height - to.height > std::max<int64_t>(0, 2 * (from.width - to.width));
}
// What is between the passes.
PixelSize halfway(PixelSize from, PixelSize to) {
  return down_first(from, to) ? PixelSize{from.width, to.height} : PixelSize{to.width, from.height};
}

uint64_t pass_bytes(PixelSize from, PixelSize to) {
  if (from.width != to.width) return aligned(taps_bytes(from.width, to.width));
  if (from.height != to.height)
    return aligned(taps_bytes(from.height, to.height)) + aligned(12 * uint64_t(to.width));
  return 0;
}

// One pass; the sizes differ in one direction.
void pass(const uint8_t* in, PixelSize from, uint8_t* out, PixelSize to, uint8_t* memory) {
  if (from.width != to.width) return across(in, from, out, to.width, make_taps(from.width, to.width, memory));
  const Taps taps = make_taps(from.height, to.height, memory);
  down(in, out, to, taps, reinterpret_cast<int32_t*>(memory + aligned(taps_bytes(from.height, to.height))));
}

}  // namespace

uint64_t resize_memory(PixelSize from, PixelSize to) {
  const PixelSize middle = halfway(from, to);
  const bool twice = from.width != to.width && from.height != to.height;
  return 16 + std::max(pass_bytes(from, middle), pass_bytes(middle, to)) + (twice ? middle.rgb_bytes() : 0);
}

void resize(const uint8_t* in, PixelSize from, uint8_t* out, PixelSize to, std::span<uint8_t> memory) {
  if (memory.size() < resize_memory(from, to))
    fail("[resize] {} bytes are given where {} are needed", memory.size(), resize_memory(from, to));
  const bool wide = from.width != to.width, high = from.height != to.height;
  if (!wide && !high) {
    std::memcpy(out, in, from.rgb_bytes());
    return;
  }
  uint8_t* working = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16;
  if (!wide || !high) return pass(in, from, out, to, working);
  const PixelSize middle = halfway(from, to);
  uint8_t* between = working + std::max(pass_bytes(from, middle), pass_bytes(middle, to));
  pass(in, from, between, middle, working);
  pass(between, middle, out, to, working);
}

}  // namespace plimsoll
