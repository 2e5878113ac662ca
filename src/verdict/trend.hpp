// The trend of a floor without a library of shapes: its slope, and whether it rose lately, slows down or flattens.
#pragma once
#include <span>

#include "verdict/floor.hpp"

namespace plimsoll::verdict {

double median_of(std::span<const FloorPoint> points);

// In bytes a unit of the points' time, with its standard error.
struct Slope {
  double value = 0, error = 0;
};
// Theil's and Sen's slope, with the error of a straight line through noise of the residuals' spread.
Slope slope_of(std::span<const FloorPoint> points);

// Did the floor rise by more than `matters` between the second quarter and the last, and not by a single step? Then it
// may again: what is lost can fit into gaps for a while.
bool rose_late(std::span<const FloorPoint> floor, double matters);
// Does the later half of the floor rise, by Mann and Kendall's count of rising pairs? A hint, not a verdict.
bool rises_lately(std::span<const FloorPoint> points, double matters);
// Does the whole floor rise by that count, its later half at least half as fast?
bool rises_throughout(std::span<const FloorPoint> points, double matters);
// Is the growth of the last third clearly slower than that of the middle third? Then it may well end.
bool slows_down(std::span<const FloorPoint> points);
// Has the growth since `from` lost much of its pace? Then, too, it may end.
bool flattens(std::span<const FloorPoint> points, double from);

}  // namespace plimsoll::verdict
