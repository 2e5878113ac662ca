#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels::reference {

void rotary(const Rotary& a) {
  const int64_t half = a.width / 2;
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* cosine = a.angles + (a.first + row) % a.lines * a.width;
    for (int64_t head = 0; head < a.heads; ++head)
      for (int64_t i = 0; i < half; ++i) {
        const int64_t at = head * a.width + i;
        const double one = a.x[row * a.x_row + at], other = a.x[row * a.x_row + at + half];
        const double c = cosine[i], s = a.back ? -cosine[half + i] : cosine[half + i];
        a.y[row * a.y_row + at] = static_cast<float>(one * c - other * s);
        a.y[row * a.y_row + at + half] = static_cast<float>(other * c + one * s);
      }
  }
}

}  // namespace plimsoll::kernels::reference
