// Rotary positions: in every head, element i and element i + width / 2 of a row are turned by an angle that depends on the
// row's position and on i.
#pragma once
#include <cstdint>

namespace plimsoll::kernels {

struct Rotary {
  int64_t rows, heads, width;
  const float* x;  // [rows, heads width]
  int64_t x_row;
  const float*
      angles;  // [lines, width]: width / 2 cosines, then as many sines; row r has line (first + r) % lines
  int64_t first, lines;
  float* y;  // [rows, heads width]; may be x
  int64_t y_row;
  bool back;  // turns the other way: the gradient
};

}  // namespace plimsoll::kernels
