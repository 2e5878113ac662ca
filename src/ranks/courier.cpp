#include "ranks/courier.hpp"

#include <utility>

#include "base/error.hpp"
#include "platform/futex.hpp"
#include "platform/signals.hpp"

namespace plimsoll::ranks {
namespace {

// Messages on their way are looked at this often: each look takes some microseconds from the thread that computes.
constexpr double moment = 200e-6;

}  // namespace

Courier::~Courier() {
  if (!thread_.joinable()) return;
  stop_ = true;
  mark_.store(hurry);
  platform::wake(mark_, 1);
  begun_.fetch_add(1);
  platform::wake(begun_, 1);
  thread_.join();
}

void Courier::begin(Job job, void* of) {
  if (!thread_.joinable()) {
    const SignalsBlocked blocked;  // signals are the main thread's
    thread_ = std::thread([this] { work(); });
  }
  job_ = job, of_ = of;
  working_ = true;
  mark_.store(0, std::memory_order_relaxed);
  begun_.fetch_add(1, std::memory_order_release);
  platform::wake(begun_, 1);
}

void Courier::reach(uint32_t mark) {
  mark_.store(mark, std::memory_order_release);
  platform::wake(mark_, 1);
}

void Courier::finish() {
  working_ = false;
  reach(hurry);
  const uint32_t wanted = begun_.load();
  for (uint32_t done; (done = done_.load(std::memory_order_acquire)) != wanted;)
    platform::sleep_while(done_, done);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Courier::reached(uint32_t mark) {
  if (stop_) fail("the exchange was given up");
  const uint32_t now = mark_.load(std::memory_order_acquire);
  if (now < mark) platform::sleep_while(mark_, now, moment);
  return has_reached(mark);
}

void Courier::work() {
  for (uint32_t seen = 0;;) {
    for (uint32_t begun; (begun = begun_.load(std::memory_order_acquire)) == seen;)
      platform::sleep_while(begun_, begun);
    if (stop_) return;
    ++seen;
    try {
      job_(of_);
    } catch (...) {
      error_ = std::current_exception();
    }
    done_.store(seen, std::memory_order_release);
    platform::wake(done_, 1);
  }
}

}  // namespace plimsoll::ranks
