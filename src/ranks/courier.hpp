// A thread that exchanges messages while the thread that computes goes on. It does one job at a time, which follows the marks
// that the other thread reaches; between them it sleeps.
//
//   courier.begin(job, of);     // the job calls await(3) ...
//   courier.reach(3);           // ... which returns from here on
//   courier.finish();           // returns when the job is done, or throws what the job threw
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

namespace plimsoll::ranks {

class Courier {
 public:
  using Job = void (*)(void* of);
  Courier() = default;
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // Of the thread that computes. The thread is made by the first job.
  void begin(Job job, void* of);
  void reach(uint32_t mark);
  void finish();
  bool working() const { return working_; }

  // Of the job. Whether the mark is reached, and whether the other thread waits for the job.
  bool has_reached(uint32_t mark) const { return mark_.load(std::memory_order_acquire) >= mark; }
  bool hurried() const { return has_reached(hurry); }
  // The same after a moment's sleep, which ends as soon as something is reached. Throws where the job is to be given up.
  bool reached(uint32_t mark);
  void rest() { reached(hurry); }

 private:
  // No mark is higher: the other thread waits.
  static constexpr uint32_t hurry = ~0u;
  void work();

  std::thread thread_;
  Job job_ = nullptr;
  void* of_ = nullptr;
  std::exception_ptr error_;
  bool working_ = false;  // of the thread that computes: a job was begun and not finished
  alignas(64) std::atomic<uint32_t> mark_{0};   // the highest of them
  alignas(64) std::atomic<uint32_t> begun_{0};  // jobs
  alignas(64) std::atomic<uint32_t> done_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace plimsoll::ranks
