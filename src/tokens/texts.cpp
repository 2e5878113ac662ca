#include "tokens/texts.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace plimsoll::tokens {

int32_t Texts::index(const std::vector<bool>* wanted) {
  slots_.assign(std::bit_ceil(std::max<size_t>(16, 2 * size())), -1);
  const size_t mask = slots_.size() - 1;
  int32_t repeated = -1;
  for (size_t i = 0; i < size(); ++i) {
    if (wanted && !(*wanted)[i]) continue;
    const std::string_view text = (*this)[i];
    size_t slot = XXH3_64bits(text.data(), text.size()) & mask;
    while (slots_[slot] >= 0 && (*this)[size_t(slots_[slot])] != text) slot = (slot + 1) & mask;
    if (slots_[slot] >= 0)
      repeated = int32_t(i);
    else
      slots_[slot] = int32_t(i);
  }
  return repeated;
}

int32_t Texts::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const size_t mask = slots_.size() - 1;
  for (size_t slot = XXH3_64bits(text.data(), text.size()) & mask;; slot = (slot + 1) & mask)
    if (slots_[slot] < 0 || (*this)[size_t(slots_[slot])] == text) return slots_[slot];
}

}  // namespace plimsoll::tokens
