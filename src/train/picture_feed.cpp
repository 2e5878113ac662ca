#include "train/picture_feed.hpp"

#include <algorithm>
#include <cstring>

namespace plimsoll {

PictureFeed::PictureFeed(Runtime& runtime, const Corpus& corpus, int loaders) : runtime_(runtime) {
  const auto vision = runtime.program().model->vision();
  if (!vision || !corpus.packed() || !corpus.packed()->pictures()) return;
  const Program& program = runtime.program();
  corpus_ = corpus.packed();
  pictures_ = corpus_->pictures();
  trained_ = vision->trained;
  const Type buffers = runtime.graph()[program.picture_buffers].type;
  const auto fit = int(uint64_t(buffers.elements()) / pictures_->options().buffer);
  loader_ = std::make_unique<PictureLoader>(
      *pictures_,
      std::span(runtime.executor().data<uint8_t>(program.picture_buffers), size_t(buffers.elements())),
      std::min(loaders, fit));
  numbers_.resize(4096);
  windows_.reserve(4096);
  wanted_.reserve(4096);
  if (trained_) return;
  slot_of_.assign(size_t(pictures_->tiles()), -1);
  const auto slots = size_t(runtime.graph()[program.picture_cache].type.shape[0]);
  tile_in_.assign(slots, -1);
  used_.assign(slots, 0);
}

std::span<const uint32_t> PictureFeed::of_window(Split split, uint64_t window) {
  const size_t count = corpus_->pictures(split, window, numbers_);
  return std::span(numbers_).first(std::min(count, numbers_.size()));
}

bool PictureFeed::missing(uint32_t picture) const {
  const auto [first, tiles] = pictures_->place(picture);
  for (uint32_t i = 0; i < tiles; ++i)
    if (slot_of_[size_t(first + i)] < 0) return true;
  return false;
}

// The one that was used longest ago. A step needs fewer than there are.
int32_t PictureFeed::take_slot() {
  const auto oldest = std::min_element(used_.begin(), used_.end());
  const auto slot = size_t(oldest - used_.begin());
  if (*oldest == now_ && tile_in_[slot] >= 0)
    fail("[pictures] a step needs more tiles than the {} that are kept", used_.size());
  if (tile_in_[slot] >= 0) slot_of_[size_t(tile_in_[slot])] = -1;
  used_[slot] = now_;
  return int32_t(slot);
}

void PictureFeed::look(uint32_t picture, std::span<const uint8_t> tiles) {
  const Program& program = runtime_.program();
  Executor& executor = runtime_.executor();
  const auto [first, count] = pictures_->place(picture);
  const auto bytes = size_t(pictures_->tile_bytes());
  const int64_t width = runtime_.graph()[program.picture_cache].type.shape[1];
  for (uint32_t i = 0; i < count; ++i) {
    if (slot_of_[size_t(first + i)] >= 0) {
      used_[size_t(slot_of_[size_t(first + i)])] = now_;
      continue;
    }
    std::memcpy(executor.data<uint8_t>(program.look_pixels), tiles.data() + i * bytes, bytes);
    executor.run(program.look, Moment{});
    const int32_t slot = take_slot();
    std::memcpy(executor.data(program.picture_cache) + slot * width, executor.data(program.look_seen),
                size_t(width) * sizeof(float));
    slot_of_[size_t(first + i)] = slot;
    tile_in_[size_t(slot)] = int64_t(first + i);
    ++looked_;
  }
}

bool PictureFeed::look_at(Split split, std::span<const uint64_t> windows, Interrupt interrupt) {
  ++now_;
  wanted_.clear();
  // What is there already must not go while the rest is looked at.
  for (const uint64_t window : windows)
    for (const uint32_t picture : of_window(split, window)) {
      const auto [first, tiles] = pictures_->place(picture);
      for (uint32_t i = 0; i < tiles; ++i)
        if (const int32_t slot = slot_of_[size_t(first + i)]; slot >= 0) used_[size_t(slot)] = now_, ++kept_;
      if (missing(picture) && std::find(wanted_.begin(), wanted_.end(), picture) == wanted_.end())
        wanted_.push_back(picture);
    }
  // What was requested ahead is the beginning of this, unless something else came between.
  if (loader_->waiting() && (wanted_.empty() || loader_->first() != wanted_[0])) loader_->drain();
  size_t asked = loader_->waiting();
  for (size_t next = 0; next < wanted_.size(); ++next) {
    for (; asked < wanted_.size() && loader_->has_room(); ++asked) loader_->request(wanted_[asked]);
    if (interrupt()) return loader_->drain(), false;
    look(wanted_[next], loader_->await());
    loader_->release();
  }
  return true;
}

bool PictureFeed::prepare(const Batches& batches, uint64_t step, uint64_t rows, Interrupt interrupt) {
  if (!active() || trained_) return true;
  const auto windows_of = [&](uint64_t number) {
    windows_.clear();
    for (uint64_t row = 0; row < rows; ++row) windows_.push_back(batches.window(number, row));
  };
  windows_of(step);
  if (!look_at(Split::train, windows_, interrupt)) return false;
  // The next step's are decoded while this one is computed.
  windows_of(step + 1);
  wanted_.clear();
  for (const uint64_t window : windows_)
    for (const uint32_t picture : of_window(Split::train, window))
      if (loader_->has_room() && missing(picture) &&
          std::find(wanted_.begin(), wanted_.end(), picture) == wanted_.end()) {
        wanted_.push_back(picture);
        loader_->request(picture);
      }
  return true;
}

int64_t PictureFeed::copy(Split split, uint64_t window, ValueId pixels, ValueId seen, int64_t tile,
                          int leaf) {
  Executor& executor = runtime_.executor();
  const Program& program = runtime_.program();
  const auto bytes = size_t(pictures_->tile_bytes());
  const auto pictures = of_window(split, window);
  if (trained_) {
    const auto room = runtime_.graph()[pixels].type.shape[0];
    size_t asked = 0;
    for (size_t i = 0; i < pictures.size(); ++i) {
      for (; asked < pictures.size() && loader_->has_room(); ++asked) loader_->request(pictures[asked]);
      const auto tiles = loader_->await();
      const auto count = std::min<int64_t>(int64_t(tiles.size() / bytes), room - tile);
      std::memcpy(executor.data<uint8_t>(pixels, leaf) + size_t(tile) * bytes, tiles.data(),
                  size_t(count) * bytes);
      tile += count;
      loader_->release();
    }
    return tile;
  }
  const int64_t width = runtime_.graph()[program.picture_cache].type.shape[1];
  const int64_t room = runtime_.graph()[seen].type.elements() / width;
  for (const uint32_t picture : pictures) {
    const auto [first, tiles] = pictures_->place(picture);
    for (uint32_t i = 0; i < tiles && tile < room; ++i, ++tile)
      std::memcpy(executor.data(seen, leaf) + tile * width,
                  executor.data(program.picture_cache) + slot_of_[size_t(first + i)] * width,
                  size_t(width) * sizeof(float));
  }
  return tile;
}

// Tiles that no picture fills are 0, whatever stood there before.
void PictureFeed::clear(ValueId pixels, ValueId seen, int64_t from, int leaf) {
  Executor& executor = runtime_.executor();
  const ValueId value = trained_ ? pixels : seen;
  const Type type = runtime_.graph()[value].type;
  const uint64_t width =
      trained_ ? pictures_->tile_bytes()
               : runtime_.graph()[runtime_.program().picture_cache].type.shape[1] * sizeof(float);
  std::memset(executor.bytes(value, leaf) + uint64_t(from) * width, 0, type.bytes() - uint64_t(from) * width);
}

void PictureFeed::fill(const Batches& batches, uint64_t step, uint64_t first, uint64_t rows, int leaf) {
  if (!active()) return;
  const Program& program = runtime_.program();
  int64_t tile = 0;
  for (uint64_t r = 0; r < rows; ++r)
    tile = copy(Split::train, batches.window(step, first + r), program.pixels, program.seen, tile, leaf);
  clear(program.pixels, program.seen, tile, leaf);
}

bool PictureFeed::evaluate(const Evaluation& windows, uint64_t first, uint64_t count, Interrupt interrupt) {
  if (!active()) return true;
  windows_.clear();
  for (uint64_t w = first; w < first + count; ++w) windows_.push_back(windows.number(w));
  if (!trained_ && !look_at(Split::validation, windows_, interrupt)) return false;
  const Program& program = runtime_.program();
  int64_t tile = 0;
  for (uint64_t w = first; w < first + count; ++w)
    tile =
        copy(Split::validation, windows.number(w), program.evaluate_pixels, program.evaluate_seen, tile, 0);
  clear(program.evaluate_pixels, program.evaluate_seen, tile, 0);
  return true;
}

void PictureFeed::show_window(uint64_t window) {
  if (!active()) return;
  if (!trained_) look_at(Split::validation, {&window, 1}, {});
  const Program& program = runtime_.program();
  const int64_t tile = copy(Split::validation, window, program.window_pixels, program.window_seen, 0, 0);
  clear(program.window_pixels, program.window_seen, tile, 0);
}

}  // namespace plimsoll
