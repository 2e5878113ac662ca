// A shuffle in bounded memory: every item occurs exactly once per epoch, in an order determined by the seed
// and the epoch. Drawing the same number of items again from the start of the epoch restores the buffer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"

namespace plimsoll {

class ShuffleBuffer {
 public:
  // With a capacity of 1 items keep their order. All memory is taken here.
  ShuffleBuffer(uint64_t seed, size_t capacity) : random_(seed, Stream::shuffle), waiting_(capacity) {}

  // Nothing is waiting, nothing has been drawn.
  void restart(uint64_t epoch) {
    first_counter_ = epoch << epoch_shift;
    drawn_ = count_ = 0;
    ended_ = false;
  }

  // The next item; false when all of the epoch have been drawn. `source(item)` gives the next in their own order,
  // false when there is none.
  template <typename Source>
  bool draw(Source&& source, uint64_t& item) {
    while (!ended_ && count_ < waiting_.size())
      if (source(item))
        waiting_[count_++] = item;
      else
        ended_ = true;
    if (count_ == 0) return false;
    uint64_t& chosen = waiting_[random_.below(first_counter_ + drawn_++, count_)];
    item = chosen;
    chosen = waiting_[--count_];
    return true;
  }

 private:
  static constexpr int epoch_shift = 40;  // an epoch of more items would meet the numbers of the next
  CounterRng random_;
  std::vector<uint64_t> waiting_;
  uint64_t first_counter_ = 0, drawn_ = 0;
  size_t count_ = 0;
  bool ended_ = false;
};

}  // namespace plimsoll
