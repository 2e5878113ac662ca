#include "graph/pool.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plimsoll {
namespace {

// About 20 to 50 microseconds of looking before going to sleep: longer than the gaps inside a step, far shorter than
// a time slice that another program could use.
constexpr int spins = 400;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

constexpr uint64_t closed = 0xffffffffu;  // as a part: beyond those of any job
constexpr uint64_t part_of(uint64_t ticket) { return ticket & 0xffffffffu; }

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

// Claims and runs one part if one is left. The claim succeeds only if the ticket has not moved since it was read, and
// the caller moves it before it changes anything of the job: so the job and the number of parts read in between are
// those of the ticket. (Whoever reads a new one with acquire finds the ticket moved.)
bool Pool::take_part(uint64_t seen, int slot) {
  const Job job = job_.load(std::memory_order_acquire);
  const void* context = context_.load(std::memory_order_acquire);
  if (part_of(seen) >= static_cast<uint64_t>(parts_.load(std::memory_order_acquire))) return false;
  if (!ticket_.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel)) return true;
  job(context, static_cast<int>(part_of(seen)), slot);
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1 && caller_sleeps_.load()) wake(unfinished_, 1);
  return true;
}

void Pool::run(Job job, const void* context, int parts) {
  if (parts == 1 || workers_.empty()) {
    for (int part = 0; part < parts; ++part) job(context, part, 0);
    return;
  }
  const uint64_t next = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  // Closed first: a late worker still holds the ticket of the last job, whose part may exist in a larger next one.
  ticket_.store(next << 32 | closed, std::memory_order_relaxed);
  job_.store(job, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  parts_.store(parts, std::memory_order_release);
  unfinished_.store(static_cast<uint32_t>(parts), std::memory_order_relaxed);
  ticket_.store(next << 32, std::memory_order_release);
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
