// Shows how far a large file has been read, for operations that take a noticeable time.
#pragma once
#include <chrono>
#include <cstdint>

#include "data/corpus.hpp"

namespace plimsoll {

class ReadingLine {
 public:
  explicit ReadingLine(int file);  // descriptor to write to
  // To be given to whoever reads; this must outlive it.
  ReadingProgress progress();
  // Takes the line off a terminal.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void show(uint64_t done, uint64_t total);

  int file_;
  bool terminal_, shown_ = false;
  Clock::time_point next_;
};

}  // namespace plimsoll
