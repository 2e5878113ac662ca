// Brings pictures into a run. Where the tower is trained, its pixels go straight into the lists. Else the tower looks at a tile once,
// and what it sees is kept in planned memory, by use: later steps that need the tile do not look again. Results do not depend on how
// much is kept, nor on how many threads decode.
#pragma once
#include <memory>
#include <vector>

#include "data/batches.hpp"
#include "data/picture_loader.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

class PictureFeed {
 public:
  // Does nothing for a corpus without pictures. Both must outlive this.
  PictureFeed(Runtime& runtime, const Corpus& corpus, int loaders);

  bool active() const { return pictures_ != nullptr; }
  // Before a step of `rows` windows: has what it needs, and lets the pictures of the next one be decoded meanwhile. False where
  // `interrupt` asked to leave.
  bool prepare(const Batches& batches, uint64_t step, uint64_t rows, Interrupt interrupt);
  // Fills the input of `rows` windows of a prepared step from `first` on.
  void fill(const Batches& batches, uint64_t step, uint64_t first, uint64_t rows, int leaf);
  // The same for `count` windows of an evaluation; false as above.
  bool evaluate(const Evaluation& windows, uint64_t first, uint64_t count, Interrupt interrupt);
  // For the list of one window's logits.
  void show_window(uint64_t window);

  // Calls `use` with the tiles of a picture.
  template <typename Use>
  void with_tiles(uint32_t picture, Use use) {
    loader_->drain();
    loader_->request(picture);
    use(loader_->await());
    loader_->release();
  }

  // Tiles looked at, and those that were needed and kept already.
  uint64_t looked() const { return looked_; }
  uint64_t kept() const { return kept_; }
  double seconds_awaited() const { return loader_ ? loader_->seconds_awaited() : 0; }

 private:
  std::span<const uint32_t> of_window(Split split, uint64_t window);
  bool missing(uint32_t picture) const;
  // Requests what is missing of these windows, as far as there is room; `each` is called for every picture awaited.
  bool look_at(Split split, std::span<const uint64_t> windows, Interrupt interrupt);
  void look(uint32_t picture, std::span<const uint8_t> tiles);
  int32_t take_slot();
  // Copies what is known of a window's pictures, tile after tile, and returns how many tiles those are.
  int64_t copy(Split split, uint64_t window, ValueId pixels, ValueId seen, int64_t tile, int leaf);
  void clear(ValueId pixels, ValueId seen, int64_t from, int leaf);

  Runtime& runtime_;
  const PackedCorpus* corpus_ = nullptr;
  const Pictures* pictures_ = nullptr;
  bool trained_ = false;  // the tower is
  std::unique_ptr<PictureLoader> loader_;
  std::vector<uint32_t> numbers_;  // of a window's pictures
  std::vector<uint64_t> windows_;  // of a step
  std::vector<uint32_t> wanted_;   // pictures that are to be looked at, in order
  std::vector<int32_t> slot_of_;   // by tile; -1: not kept
  std::vector<int64_t> tile_in_;   // by slot; -1: none
  std::vector<uint64_t> used_;     // by slot: when
  uint64_t now_ = 0, looked_ = 0, kept_ = 0;
};

}  // namespace plimsoll
