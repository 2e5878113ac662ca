// Charts made of characters: blocks and braille if the terminal supports UTF-8, otherwise ASCII.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::report {

// One character a column: the mean of what falls into it, from the least to the greatest value.
std::string sparkline(std::span<const double> values, size_t columns, bool unicode);

struct PlotPoint {
  double time, value;
};
// `rows` lines of `columns` characters; in each column all between its least and greatest value is drawn, so nothing
// is lost. Values outside low..high are cut off.
std::vector<std::string> plot(std::span<const PlotPoint> points, size_t columns, size_t rows, double low,
                              double high, bool unicode);

}  // namespace plimsoll::report
