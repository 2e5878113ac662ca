// Brings pictures into a run. Where the tower is trained, its pixels go straight into the lists. Else the tower looks at a tile once,
// and what it sees is kept, by use: later steps that need the tile do not look again. Results do not depend on how much is kept or
// where, nor on how many threads decode.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "data/batches.hpp"
#include "data/picture_loader.hpp"
#include "train/feature_cache.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

class PictureFeed {
 public:
  // A file that holds features too, and what they depend on beside pictures.
  struct Kept {
    std::filesystem::path path;
    uint64_t bytes = 0;
    std::string computed = {};
  };
  // Does nothing for a corpus without pictures. Both must outlive this. Of a tower that is trained nothing
  // is kept.
  PictureFeed(Runtime& runtime, const Corpus& corpus, int loaders,
              const std::optional<Kept>& kept = std::nullopt);

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

  struct Counts {
    uint64_t looked = 0, kept = 0, read = 0;  // tiles looked at; needed and kept already; read from the file
    uint64_t damaged = 0;                     // tiles in the file that had to be looked at again
    int failure = 0;                          // errno of the write after which the file was left alone
    double seconds_awaited = 0;
  };
  Counts counts() const;

 private:
  struct Input {
    ValueId pixels, seen;
  };
  std::span<const uint32_t> of_window(Split split, uint64_t window);
  bool missing(uint32_t picture) const;
  void want(uint32_t picture);
  // What is to be decoded for these windows, as far as there is room for it.
  void request_ahead(Split split, std::span<const uint64_t> windows);
  bool look_at(Split split, std::span<const uint64_t> windows, Interrupt interrupt);
  void look(uint32_t picture, std::span<const uint8_t> tiles);
  // Calls each(picture, tiles) for the wanted pictures in order; false where `interrupt` asked to leave.
  template <typename Each>
  bool decode(Interrupt interrupt, Each each);
  // Tile after tile into the input of these windows; those that no picture fills are 0, whatever stood there before.
  void copy(Split split, std::span<const uint64_t> windows, Input input, int leaf);

  Runtime& runtime_;
  const PackedCorpus* corpus_ = nullptr;
  const Pictures* pictures_ = nullptr;
  bool trained_ = false;  // the tower is
  std::unique_ptr<PictureLoader> loader_;
  std::optional<FeatureCache> cache_;
  std::vector<uint32_t> numbers_;              // of a window's pictures
  std::vector<uint64_t> windows_;              // of a step
  std::vector<uint32_t> wanted_;               // pictures that are to be decoded, in order
  uint64_t looked_ = 0, kept_ = 0, rows_ = 0;  // rows: windows of a step
};

}  // namespace plimsoll
