// Fewer points that look the same: of every stretch of time the rows that hold its least and its greatest values
// stay, as they are.
#pragma once
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace plimsoll::report {

// A measure of row `i`; NaN where it has none.
using Measure = std::function<double(size_t)>;

// Which of `count` rows in order of time to keep: the first, the last, and of each of `stretches` equal stretches of
// time the least and the greatest of every measure. All of them where that would not be fewer. Ascending.
std::vector<size_t> rows_to_show(size_t count, const Measure& time, const std::vector<Measure>& measures,
                                 size_t stretches);

}  // namespace plimsoll::report
