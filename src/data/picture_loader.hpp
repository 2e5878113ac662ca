// Decodes pictures ahead of those who need them, with threads of this process. Each thread has one slot of planned memory, so what
// is decoded and not yet used is bounded. Pictures come in the order in which they were requested, whatever the number of
// threads; what goes wrong with one is told when it is awaited.
#pragma once
#include <atomic>
#include <deque>
#include <thread>

#include "data/pictures.hpp"

namespace plimsoll {

class PictureLoader {
 public:
  // `memory` holds a buffer of pictures.options().buffer bytes for each thread, and one where there are none: then pictures are
  // decoded when they are awaited. Both must outlive this.
  PictureLoader(const Pictures& pictures, std::span<uint8_t> memory, int threads);
  ~PictureLoader();
  PictureLoader(const PictureLoader&) = delete;
  PictureLoader& operator=(const PictureLoader&) = delete;

  bool has_room() const { return asked_ - taken_ < slots_.size(); }
  void request(uint32_t picture);  // where there is room
  size_t waiting() const { return asked_ - taken_; }
  // Whether those waiting are the first of these, in the same order.
  bool begins(std::span<const uint32_t> pictures) const;
  // The tiles of the first of those waiting, until release(). Error where it could not be decoded.
  std::span<const uint8_t> await();
  void release();
  // Forgets all that is waiting.
  void drain();
  double seconds_awaited() const { return seconds_; }

 private:
  enum State : uint32_t { idle, requested, done, failed, closing };
  struct Slot {
    std::atomic<uint32_t> state{idle};
    uint32_t picture = 0;
    std::span<uint8_t> buffer;
    std::span<const uint8_t> tiles;
    char problem[600] = "";
  };
  void load(Slot& slot) noexcept;
  void serve(Slot& slot) noexcept;

  const Pictures& pictures_;
  std::deque<Slot> slots_;
  std::vector<std::thread> threads_;
  size_t asked_ = 0, taken_ = 0;
  double seconds_ = 0;
};

}  // namespace plimsoll
