// How many rows a model would answer exactly as they are answered: those of which every learned token is the likeliest one after
// what stands before it. That is what generation at temperature 0 would write.
#pragma once
#include "data/batches.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

struct AnswerCount {
  uint64_t rows = 0, exact = 0;
  double accuracy() const { return rows ? double(exact) / double(rows) : 0; }
};

// Of packed windows; the program has the list of a window's logits.
AnswerCount count_answers(Runtime& runtime, const Evaluation& windows);

}  // namespace plimsoll
