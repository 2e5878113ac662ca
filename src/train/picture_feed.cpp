#include "train/picture_feed.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace plimsoll {
namespace {

// Of everything that decides what the tower sees in the pictures.
uint64_t features_key(const Pictures& pictures, const std::string& computed) {
  const TileSettings& s = pictures.options().tokens.settings;
  const std::string all =
      fmt::format("{} {:016x} {} {} {}x{} {} {} {} {} {} {}", computed, pictures.hash(), s.tile,
                  s.longest_edge, s.fixed.width, s.fixed.height, s.resize, s.split, s.draft, s.rescale,
                  fmt::join(s.mean, " "), fmt::join(s.deviation, " "));
  return XXH3_64bits(all.data(), all.size());
}

}  // namespace

PictureFeed::PictureFeed(Runtime& runtime, const Corpus& corpus, int loaders, const std::optional<Kept>& kept)
    : runtime_(runtime) {
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
  const Type cache = runtime.graph()[program.picture_cache].type;
  const int64_t width = cache.shape[1];
  std::unique_ptr<FeatureFile> file;
  if (kept)
    file = std::make_unique<FeatureFile>(
        kept->path, FeatureFile::Shape{features_key(*pictures_, kept->computed), pictures_->tiles(),
                                       uint64_t(width), kept->bytes});
  cache_.emplace(std::span(runtime.executor().data(program.picture_cache), size_t(cache.elements())), width,
                 pictures_->tiles(), std::move(file));
}

PictureFeed::Counts PictureFeed::counts() const {
  Counts counts{.looked = looked_, .kept = kept_};
  if (loader_) counts.seconds_awaited = loader_->seconds_awaited();
  if (cache_)
    counts.read = cache_->read(), counts.damaged = cache_->damaged(), counts.failure = cache_->failure();
  return counts;
}

std::span<const uint32_t> PictureFeed::of_window(Split split, uint64_t window) {
  size_t count = corpus_->pictures(split, window, numbers_);
  if (count > numbers_.size()) {
    numbers_.resize(count);
    corpus_->pictures(split, window, numbers_);
  }
  return std::span(numbers_).first(count);
}

bool PictureFeed::missing(uint32_t picture) const {
  const auto [first, tiles] = pictures_->place(picture);
  for (uint32_t i = 0; i < tiles; ++i)
    if (!cache_->holds(first + i)) return true;
  return false;
}

// A trained tower wants a picture as often as it occurs, else once is enough.
void PictureFeed::want(uint32_t picture) {
  if (trained_ || std::find(wanted_.begin(), wanted_.end(), picture) == wanted_.end())
    wanted_.push_back(picture);
}

void PictureFeed::request_ahead(Split split, std::span<const uint64_t> windows) {
  wanted_.clear();
  for (const uint64_t window : windows)
    for (const uint32_t picture : of_window(split, window))
      if (trained_ || missing(picture)) want(picture);
  for (const uint32_t picture : wanted_)
    if (loader_->has_room()) loader_->request(picture);
}

template <typename Each>
bool PictureFeed::decode(Interrupt interrupt, Each each) {
  // What was requested ahead is the beginning of this, unless something else came between.
  if (!loader_->begins(wanted_)) loader_->drain();
  size_t asked = loader_->waiting();
  for (const uint32_t picture : wanted_) {
    for (; asked < wanted_.size() && loader_->has_room(); ++asked) loader_->request(wanted_[asked]);
    if (interrupt()) return loader_->drain(), false;
    each(picture, loader_->await());
    loader_->release();
  }
  return true;
}

void PictureFeed::look(uint32_t picture, std::span<const uint8_t> tiles) {
  const Program& program = runtime_.program();
  Executor& executor = runtime_.executor();
  const auto [first, count] = pictures_->place(picture);
  const auto bytes = size_t(pictures_->tile_bytes());
  for (uint32_t i = 0; i < count; ++i) {
    if (cache_->find(first + i)) continue;
    std::memcpy(executor.data<uint8_t>(program.look_pixels), tiles.data() + i * bytes, bytes);
    executor.run(program.look, Moment{});
    cache_->keep(first + i, executor.data(program.look_seen));
    ++looked_;
  }
}

bool PictureFeed::look_at(Split split, std::span<const uint64_t> windows, Interrupt interrupt) {
  cache_->begin();
  wanted_.clear();
  // What is there already is found first, so that it does not go while the rest is looked at.
  for (const uint64_t window : windows)
    for (const uint32_t picture : of_window(split, window)) {
      const auto [first, tiles] = pictures_->place(picture);
      uint32_t found = 0;
      for (uint32_t i = 0; i < tiles; ++i) found += cache_->find(first + i) != nullptr;
      kept_ += found;
      if (found < tiles) want(picture);
    }
  return decode(interrupt, [&](uint32_t picture, std::span<const uint8_t> tiles) { look(picture, tiles); });
}

void PictureFeed::copy(Split split, std::span<const uint64_t> windows, Input input, int leaf) {
  const ValueId value = trained_ ? input.pixels : input.seen;
  const auto bytes = trained_ ? size_t(pictures_->tile_bytes()) : size_t(cache_->width()) * sizeof(float);
  std::byte* place = runtime_.executor().bytes(value, leaf);
  std::byte* const end = place + runtime_.graph()[value].type.bytes();
  const auto put = [&](const void* tile) {
    if (!tile || place + bytes > end) fail("[pictures] a micro-batch has tiles that were not planned");
    std::memcpy(place, tile, bytes);
    place += bytes;
  };
  wanted_.clear();
  for (const uint64_t window : windows)
    for (const uint32_t picture : of_window(split, window)) {
      if (trained_) {
        want(picture);
        continue;
      }
      const auto [first, tiles] = pictures_->place(picture);
      for (uint32_t i = 0; i < tiles; ++i) put(cache_->find(first + i));
    }
  if (trained_)
    decode({}, [&](uint32_t, std::span<const uint8_t> tiles) {
      for (size_t at = 0; at < tiles.size(); at += bytes, ++looked_) put(tiles.data() + at);
    });
  std::memset(place, 0, size_t(end - place));
}

bool PictureFeed::prepare(const Batches& batches, uint64_t step, uint64_t rows, Interrupt interrupt) {
  if (!active()) return true;
  rows_ = rows;
  if (trained_) return true;
  const auto windows_of = [&](uint64_t number) {
    windows_.clear();
    for (uint64_t row = 0; row < rows; ++row) windows_.push_back(batches.window(number, row));
  };
  windows_of(step);
  if (!look_at(Split::train, windows_, interrupt)) return false;
  windows_of(step + 1);
  request_ahead(Split::train, windows_);  // decoded while this step is computed
  return true;
}

void PictureFeed::fill(const Batches& batches, uint64_t step, uint64_t first, uint64_t rows, int leaf) {
  if (!active()) return;
  const auto windows_from = [&](uint64_t number, uint64_t from) {
    windows_.clear();
    for (uint64_t r = 0; r < rows; ++r) windows_.push_back(batches.window(number, from + r));
  };
  windows_from(step, first);
  const Program& program = runtime_.program();
  copy(Split::train, windows_, {program.pixels, program.seen}, leaf);
  if (!trained_) return;
  if (first + rows < rows_)
    windows_from(step, first + rows);
  else
    windows_from(step + 1, 0);
  request_ahead(Split::train, windows_);  // decoded while this micro-batch is computed
}

bool PictureFeed::evaluate(const Evaluation& windows, uint64_t first, uint64_t count, Interrupt interrupt) {
  if (!active()) return true;
  const auto windows_from = [&](uint64_t from, uint64_t until) {
    windows_.clear();
    for (uint64_t w = from; w < until; ++w) windows_.push_back(windows.number(w));
  };
  windows_from(first, first + count);
  if (!trained_ && !look_at(Split::validation, windows_, interrupt)) return false;
  const Program& program = runtime_.program();
  copy(Split::validation, windows_, {program.evaluate_pixels, program.evaluate_seen}, 0);
  windows_from(first + count, std::min(first + 2 * count, windows.windows()));
  request_ahead(Split::validation, windows_);
  return true;
}

void PictureFeed::show_window(uint64_t window) {
  if (!active()) return;
  if (!trained_) look_at(Split::validation, {&window, 1}, {});
  const Program& program = runtime_.program();
  copy(Split::validation, {&window, 1}, {program.window_pixels, program.window_seen}, 0);
}

}  // namespace plimsoll
