// Head and cross-entropy as nodes, a chunk of rows at a time: logits exist for one chunk only, and in
// training are replaced by their own gradient.
#pragma once
#include <functional>
#include <string>

#include "graph/differentiate.hpp"

namespace plimsoll {

// Emits the nodes that make logits [rows, V] of hidden states [rows, C].
using HeadLogits = std::function<ValueId(ValueId hidden, const std::string& name)>;

struct HeadLoss {
  ValueId tokens;              // [B, T+1], or targets [B, T] with -1 where none counts
  ValueId losses;              // [B T], filled; without their weights
  ValueId weights = no_value;  // [B T]; none: every target counts alike
  int64_t chunk = 1;           // rows of logits at once
  float scale = 1;             // of the gradients
  bool are_targets = false;    // what `tokens` holds
};

// Where targets may be -1, logits are made of the rows that count only, up to a whole chunk.
// Fills the losses; with `gradients` also makes the gradients of hidden state and head, as far as they are trained.
void emit_head(List& list, const HeadLogits& logits, ValueId hidden, const HeadLoss& loss,
               Gradients* gradients);

// Rows of logits at once: enough for full-speed products, bounded at 64 MB.
int64_t fast_loss_rows(int64_t rows, int64_t vocab);
// A third of them, where that hardly slows products down.
int64_t few_loss_rows(int64_t rows, int64_t vocab);

}  // namespace plimsoll
