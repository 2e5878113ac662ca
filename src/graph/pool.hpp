// The thread pool. The calling thread takes part. Parts are claimed one at a time, so a thread that is
// descheduled delays at most the part it is working on. Idle threads spin for a bounded time, then sleep.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace plimsoll {

class Pool {
 public:
  // Part `part` on thread slot `slot` (0 is the caller).
  using Job = void (*)(const void* context, int part, int slot);

  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Runs all parts and returns when the last has ended. Never allocates, never throws; neither may the job.
  void run(Job job, const void* context, int parts);

 private:
  void work(int slot);
  bool take_part(uint64_t seen, int slot);

  // Epoch (32 bits), first unclaimed part and end of the unclaimed (16 bits each): one compare-and-swap claims a part of
  // one job. Even slots claim from the front, odd ones from the back, so that a thread meets the same rows in node
  // after node while they are still in its cache.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};  // what sleepers wait on
  std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<Job> job_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace plimsoll
