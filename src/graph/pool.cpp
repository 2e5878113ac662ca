#include "graph/pool.hpp"

#include "platform/futex.hpp"

namespace plimsoll {
namespace {

// Some 70 to 200 microseconds of looking before going to sleep, depending on the processor's pause: longer than the
// gaps inside a step (waking costs tens of microseconds), far shorter than a time slice another program could use.
constexpr int spins = 4000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

using platform::sleep_while;
using platform::wake;

constexpr uint64_t ticket(uint64_t epoch, uint64_t front, uint64_t back) {
  return epoch << 32 | front << 16 | back;
}

}  // namespace

Pool::Pool(int threads) {
  for (int slot = 1; slot < threads; ++slot) workers_.emplace_back([this, slot] { work(slot); });
}

Pool::~Pool() {
  stop_ = true;
  epoch_.fetch_add(1);
  wake(epoch_, static_cast<int>(workers_.size()));
  for (std::thread& worker : workers_) worker.join();
}

// Claims and runs one part if one is left. The claim succeeds only if the ticket has not moved since it was read; as
// long as it shows an unclaimed part, the caller has not gone on to another job: so the job read in between is the
// ticket's own.
bool Pool::take_part(uint64_t seen, int slot) {
  const uint64_t epoch = seen >> 32, front = seen >> 16 & 0xffff, back = seen & 0xffff;
  if (front >= back) return false;
  const Job job = job_.load(std::memory_order_acquire);
  const void* context = context_.load(std::memory_order_acquire);
  const bool from_front = slot % 2 == 0;
  const uint64_t claimed = from_front ? ticket(epoch, front + 1, back) : ticket(epoch, front, back - 1);
  if (!ticket_.compare_exchange_strong(seen, claimed)) return true;
  job(context, static_cast<int>(from_front ? front : back - 1), slot);
  if (unfinished_.fetch_sub(1) == 1 && caller_sleeps_.load()) wake(unfinished_, 1);
  return true;
}

void Pool::run(Job job, const void* context, int parts) {
  if (parts == 1 || workers_.empty()) {
    for (int part = 0; part < parts; ++part) job(context, part, 0);
    return;
  }
  // All parts of the last job are claimed, so no stale ticket can be exchanged while the job changes.
  const uint64_t next = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  job_.store(job, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  unfinished_.store(static_cast<uint32_t>(parts), std::memory_order_relaxed);
  ticket_.store(ticket(next & 0xffffffff, 0, static_cast<uint64_t>(parts)), std::memory_order_release);
  epoch_.fetch_add(1);
  if (sleepers_.load() > 0) wake(epoch_, static_cast<int>(workers_.size()));
  while (take_part(ticket_.load(std::memory_order_acquire), 0)) {
  }
  for (int i = 0; unfinished_.load(std::memory_order_acquire) != 0; ++i) {
    if (i < spins) {
      relax();
      continue;
    }
    caller_sleeps_ = true;
    if (const uint32_t left = unfinished_.load(); left != 0) sleep_while(unfinished_, left);
    caller_sleeps_ = false;
  }
}

void Pool::work(int slot) {
  uint32_t seen = 0;
  while (true) {
    for (int i = 0; epoch_.load(std::memory_order_acquire) == seen; ++i) {
      if (i < spins) {
        relax();
        continue;
      }
      sleepers_.fetch_add(1);
      if (epoch_.load() == seen) sleep_while(epoch_, seen);
      sleepers_.fetch_sub(1);
    }
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_) return;
    while (take_part(ticket_.load(std::memory_order_acquire), slot)) {
    }
  }
}

}  // namespace plimsoll
