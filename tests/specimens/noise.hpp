// Buffers that are allocated and freed: their number follows a level that wanders and returns, correlated
// over seconds.
#pragma once
#include <malloc.h>

#include <deque>

#include "specimen.hpp"

namespace specimen {

class Noise {
 public:
  Noise() { mallopt(M_MMAP_THRESHOLD, 128 * 1024); }  // a freed buffer goes back to the system
  void step() {
    level_ = 0.93 * level_ + 1.2 * normal_(random_);
    const auto wanted = static_cast<size_t>(std::max(0.0, 24 + 2 * level_));
    while (buffers_.size() < wanted) buffers_.push_back(block(256 * KB));
    while (buffers_.size() > wanted) buffers_.pop_front();
  }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
  double level_ = 0;
  std::deque<Block> buffers_;
};

}  // namespace specimen
