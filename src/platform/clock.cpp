#include "platform/clock.hpp"

#include <time.h>

namespace plimsoll::platform {
namespace {

double read_clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

}  // namespace

double monotonic_seconds() { return read_clock(CLOCK_MONOTONIC); }
uint64_t monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}
double boot_seconds() { return read_clock(CLOCK_BOOTTIME); }
double process_seconds() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
double processor_seconds() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void sleep_seconds(double seconds) {
  const timespec time{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  nanosleep(&time, nullptr);
}

}  // namespace plimsoll::platform
