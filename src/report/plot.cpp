#include "report/plot.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::report {
namespace {

// Dots of a braille character by row and column within it.
constexpr unsigned char dots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

std::string braille(unsigned char pattern) {
  return {char(0xe2), char(0xa0 | pattern >> 6), char(0x80 | (pattern & 0x3f))};
}

}  // namespace

std::string sparkline(std::span<const double> values, size_t columns, bool unicode) {
  static constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr char letters[] = "_.,-=+*#";
  std::vector<double> finite;
  for (const double value : values)
    if (std::isfinite(value)) finite.push_back(value);
  if (finite.empty() || columns == 0) return "";
  columns = std::min(columns, finite.size());
  std::vector<double> means(columns);
  for (size_t i = 0; i < columns; ++i) {
    const size_t from = i * finite.size() / columns, to = (i + 1) * finite.size() / columns;
    for (size_t j = from; j < to; ++j) means[i] += finite[j] / double(to - from);
  }
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  // What moves by a few percent is drawn as what it is: a level.
  const double low = *least, span = std::max(*most - low, .1 * std::abs(*most));
  std::string out;
  for (const double mean : means) {
    const auto level = size_t(span > 0 ? std::clamp((mean - low) / span * 7.999, 0., 7.) : 0);
    out += unicode ? std::string(blocks[level]) : std::string(1, letters[level]);
  }
  return out;
}

std::vector<std::string> plot(std::span<const PlotPoint> points, size_t columns, size_t rows, double low,
                              double high, bool unicode) {
  const size_t across = unicode ? 2 : 1, down = unicode ? 4 : 1;
  const size_t width = columns * across, height = rows * down;
  std::vector<bool> drawn(width * height);
  if (!points.empty() && high > low) {
    const double start = points.front().time, span = std::max(points.back().time - start, 1e-9);
    const auto y_of = [&](double value) {
      return size_t(std::clamp((value - low) / (high - low), 0., 1.) * double(height - 1) + .5);
    };
    size_t at = 0, before = 0;
    for (size_t x = 0; x < width; ++x) {
      const double until = start + span * double(x + 1) / double(width);
      size_t from = height, to = 0;
      for (; at < points.size() && (points[at].time <= until || x + 1 == width); ++at) {
        if (!std::isfinite(points[at].value)) continue;
        from = std::min(from, y_of(points[at].value)), to = std::max(to, y_of(points[at].value));
        before = y_of(points[at].value);
      }
      if (from == height) from = to = before;  // nothing new here: the last value holds
      for (size_t y = from; y <= to; ++y) drawn[(height - 1 - y) * width + x] = true;
    }
  }
  std::vector<std::string> lines(rows);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      unsigned char pattern = 0;
      for (size_t y = 0; y < down; ++y)
        for (size_t x = 0; x < across; ++x)
          if (drawn[(row * down + y) * width + column * across + x]) pattern |= dots[y][x];
      lines[row] += unicode ? (pattern ? braille(pattern) : " ") : std::string(1, pattern ? '#' : ' ');
    }
  return lines;
}

}  // namespace plimsoll::report
