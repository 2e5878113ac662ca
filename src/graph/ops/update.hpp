// What an optimizer's op offers to an op that makes gradients: to take them piece by piece.
#pragma once
#include "graph/op.hpp"

namespace plimsoll::ops {

// A gradient of some rows: those of the parameter begin at element `first` and are `row` apart.
struct Piece {
  const float* gradient;
  int64_t gradient_row;
  int64_t rows, columns;
  int64_t first, row;
};

class Update : public Op {
 public:
  // Whether any range of elements can be updated by itself.
  virtual bool by_elements() const = 0;
  // Updates the outputs of `f`, which are those of this op; its inputs are not looked at.
  virtual void apply(const Frame& f, const Piece& piece, float gradient_scale) const = 0;
};

}  // namespace plimsoll::ops
