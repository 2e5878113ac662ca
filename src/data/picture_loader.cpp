#include "data/picture_loader.hpp"

#include <chrono>
#include <cstdio>

#include "base/error.hpp"

namespace plimsoll {

PictureLoader::PictureLoader(const Pictures& pictures, std::span<uint8_t> memory, int threads)
    : pictures_(pictures) {
  const auto bytes = size_t(pictures.options().buffer);
  for (int i = 0; i < std::max(1, threads); ++i) {
    Slot& slot = slots_.emplace_back();
    slot.buffer = memory.subspan(size_t(i) * bytes, bytes);
  }
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, i] { serve(slots_[size_t(i)]); });
}

PictureLoader::~PictureLoader() {
  drain();
  for (Slot& slot : slots_) {
    slot.state.store(closing, std::memory_order_release);
    slot.state.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
}

void PictureLoader::load(Slot& slot) noexcept {
  try {
    slot.tiles = pictures_.load(slot.picture, slot.buffer);
    slot.state.store(done, std::memory_order_release);
  } catch (const std::exception& error) {
    std::snprintf(slot.problem, sizeof slot.problem, "%s", error.what());
    slot.state.store(failed, std::memory_order_release);
  }
}

void PictureLoader::serve(Slot& slot) noexcept {
  for (uint32_t state = 0; (state = slot.state.load(std::memory_order_acquire)) != closing;)
    if (state == requested) {
      load(slot);
      slot.state.notify_one();
    } else {
      slot.state.wait(state, std::memory_order_acquire);
    }
}

void PictureLoader::request(uint32_t picture) {
  Slot& slot = slots_[asked_++ % slots_.size()];
  slot.picture = picture;
  slot.state.store(requested, std::memory_order_release);
  slot.state.notify_one();
}

bool PictureLoader::begins(std::span<const uint32_t> pictures) const {
  if (waiting() > pictures.size()) return false;
  for (size_t i = 0; i < waiting(); ++i)
    if (slots_[(taken_ + i) % slots_.size()].picture != pictures[i]) return false;
  return true;
}

std::span<const uint8_t> PictureLoader::await() {
  Slot& slot = slots_[taken_ % slots_.size()];
  const auto began = std::chrono::steady_clock::now();
  if (threads_.empty()) load(slot);
  slot.state.wait(requested, std::memory_order_acquire);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (slot.state.load(std::memory_order_acquire) == failed) {
    release();
    fail("{}", slot.problem);
  }
  return slot.tiles;
}

void PictureLoader::release() {
  slots_[taken_ % slots_.size()].state.store(idle, std::memory_order_release);
  ++taken_;
}

void PictureLoader::drain() {
  while (waiting()) {
    Slot& slot = slots_[taken_ % slots_.size()];
    if (!threads_.empty()) slot.state.wait(requested, std::memory_order_acquire);
    release();
  }
}

}  // namespace plimsoll
