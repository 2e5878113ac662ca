#include "train/moment_stream.hpp"

#include <algorithm>

namespace plimsoll {

MomentStream::MomentStream(const ranks::Team& team, const std::vector<TensorSlot>& slots)
    : team_(team), own_(slots) {
  if (team_.alone()) return;
  std::vector<uint64_t> held, all(team_.first() ? slots.size() * size_t(team_.size()) : 0);
  for (const TensorSlot& slot : slots) held.push_back(slot.data ? slot.held() : 0);
  team_.collect(held.data(), held.size() * sizeof(uint64_t), all.data());
  if (!team_.first()) return;
  buffer_.resize(buffer_bytes);
  for (size_t s = 0; s < slots.size(); ++s)
    for (size_t rank = 0; rank < size_t(team_.size()); ++rank)
      if (const uint64_t bytes = all[rank * slots.size() + s]) {
        parts_.push_back({int(rank), bytes});
        own_slot_.push_back(s);
      }
}

std::span<const std::byte> MomentStream::next() noexcept {
  if (part_ == parts_.size() || !lost_.empty()) return {};
  const Part& part = parts_[part_];
  const size_t bytes = size_t(std::min(buffer_bytes, part.bytes - done_)), first = size_t(done_);
  const size_t slot = own_slot_[part_];
  if ((done_ += bytes) == part.bytes) ++part_, done_ = 0;
  if (part.rank == 0) return {static_cast<const std::byte*>(own_[slot].data) + first, bytes};
  try {
    ranks::Communicator& from = *team_.communicator();
    from.wait(from.receive(part.rank, buffer_.data(), bytes));
    return {buffer_.data(), bytes};
  } catch (const Error& error) {
    lost_ = error.what();
    return {};
  }
}

void MomentStream::drain() {
  while (!next().empty()) {
  }
  if (!lost_.empty()) throw ranks::RankLost(lost_);
  part_ = 0;
}

void MomentStream::serve() const {
  ranks::Communicator& to = *team_.communicator();
  for (const TensorSlot& slot : own_)
    for (uint64_t done = 0; slot.data && done < slot.held(); done += buffer_bytes)
      to.wait(to.send(0, static_cast<const std::byte*>(slot.data) + done,
                      size_t(std::min(buffer_bytes, slot.held() - done))));
}

}  // namespace plimsoll
