#include "platform/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace plimsoll::platform {
namespace {

timespec span(double time) {
  const auto seconds = static_cast<time_t>(time);
  return {seconds, static_cast<long>((time - static_cast<double>(seconds)) * 1e9)};
}

}  // namespace

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void sleep_while(std::atomic<uint32_t>& word, uint32_t value, double at_most) {
  const timespec time = span(at_most);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, &time, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
void sleep_while_shared(std::atomic<uint32_t>& word, uint32_t value, double at_most) {
  const timespec time = span(at_most);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &time, nullptr, 0);
}
void wake_shared(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace plimsoll::platform
