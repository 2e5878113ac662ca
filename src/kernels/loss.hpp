// Cross-entropy of rows of logits, in place: in training the logits are replaced by their own gradient.
#pragma once
#include <cstdint>

namespace plimsoll::kernels {

struct CrossEntropy {
  int64_t rows, classes, row_stride;
  float* logits;  // [rows, classes]; becomes scale * weight * (softmax - onehot) when `gradient`
  const int32_t*
      targets;        // target of row r is targets[r / per_line * line_stride + r % per_line]; below 0: none,
                      // and its loss and gradient are 0
  int64_t first_row;  // number of the first of these rows within the batch
  int64_t per_line, line_stride;
  float* losses;  // [rows], without their weights
  float scale;
  bool gradient;
  const float* weights = nullptr;  // of each row of the batch, numbered as first_row is; null: all are 1
};

}  // namespace plimsoll::kernels
