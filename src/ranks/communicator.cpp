#include "ranks/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "platform/clock.hpp"

namespace plimsoll::ranks {

void Communicator::wait(int ticket) {
  for (int looks = 0;; ++looks) {
    const uint32_t heard = hear();
    if (done(ticket)) return;
    rest(looks, heard);
  }
}

// Looks often at first, then lets others run, then sleeps a little in between: ranks may outnumber cores.
void Communicator::rest(int looks, uint32_t) {
  constexpr int yields_after = 50, sleeps_after = 2000;
  constexpr double nap = 50e-6;
  if (looks > sleeps_after)
    platform::sleep_seconds(nap);
  else if (looks > yields_after)
    std::this_thread::yield();
}

// Up a binary tree of the ranks, then down again.
uint64_t Team::max(uint64_t value) const {
  if (alone()) return value;
  for (int child : {2 * rank() + 1, 2 * rank() + 2}) {
    if (child >= size()) continue;
    uint64_t other = 0;
    communicator_->wait(communicator_->receive(child, &other, sizeof other));
    value = std::max(value, other);
  }
  if (!first()) communicator_->wait(communicator_->send(parent(), &value, sizeof value));
  share(&value, sizeof value);
  return value;
}

void Team::share(void* data, size_t bytes) const {
  if (alone()) return;
  if (!first()) communicator_->wait(communicator_->receive(parent(), data, bytes));
  int tickets[2] = {-1, -1}, sent = 0;
  for (int child : {2 * rank() + 1, 2 * rank() + 2})
    if (child < size()) tickets[sent++] = communicator_->send(child, data, bytes);
  for (int i = 0; i < sent; ++i) communicator_->wait(tickets[i]);
}

void Team::collect(const void* own, size_t bytes, void* all) const {
  if (!first()) return communicator_->wait(communicator_->send(0, own, bytes));
  if (bytes) std::memcpy(all, own, bytes);
  for (int rank = 1; rank < size(); ++rank)
    communicator_->wait(communicator_->receive(
        rank, static_cast<std::byte*>(all) + bytes * static_cast<size_t>(rank), bytes));
}

}  // namespace plimsoll::ranks
