// Defines what counts as the memory of a process or a tree, wherever it is measured, recorded, judged or shown.
#pragma once
#include <cstdint>

namespace plimsoll {

// PSS where it is known, else RSS, and what is swapped out: those pages are the process's own still. A negative
// argument is not known; neither is then the result where both PSS and RSS are not.
constexpr int64_t footprint(int64_t pss, int64_t rss, int64_t swap) {
  const int64_t resident = pss >= 0 ? pss : rss;
  return resident < 0 ? resident : resident + (swap > 0 ? swap : 0);
}

template <typename Row>
constexpr int64_t footprint(const Row& row) {
  return footprint(row.pss, row.rss, row.swap);
}

}  // namespace plimsoll
