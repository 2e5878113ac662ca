// An arena of chunks that is reset at every iteration, as in trainers written in plain C. With `reuse` false
// it has a classic bug: after a reset, an arena that fills its first chunk takes a new one from malloc and
// overwrites the link to its existing chain, which is lost.
#pragma once
#include <cstdlib>

#include "specimen.hpp"

namespace specimen {

class Arena {
 public:
  Arena(size_t chunk_bytes, bool reuse)
      : chunk_bytes_(chunk_bytes), reuse_(reuse), first_(make()), current_(first_) {}

  void* allocate(size_t bytes) {
    if (current_->used + bytes > chunk_bytes_) {
      if (!reuse_ && current_->next) lose(current_->next->used);
      if (!reuse_ || !current_->next) current_->next = make();
      current_ = current_->next;
      current_->used = 0;
    }
    void* memory = current_->memory + current_->used;
    current_->used += bytes;
    return touch(memory, bytes);
  }
  void reset() {
    current_ = first_;
    current_->used = 0;
  }

 private:
  struct Chunk {
    Chunk* next;
    size_t used;
    char* memory;
  };
  Chunk* make() const { return new Chunk{nullptr, 0, static_cast<char*>(std::malloc(chunk_bytes_))}; }
  size_t chunk_bytes_;
  bool reuse_;
  Chunk *first_, *current_;
};

// An iteration's activations: 24 values of 4 KB in chunks of 64 KB, so two chunks an iteration.
inline void train_in(Arena& arena, Run& run) {
  Block model = block(30 * MB);
  while (run.next()) {
    for (int value = 0; value < 24; ++value) arena.allocate(4096);
    arena.reset();
  }
}

}  // namespace specimen
