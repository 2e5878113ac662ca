// Reduces the number of points without changing the appearance: each interval of time keeps the rows with its
// smallest and largest values, unchanged.
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
