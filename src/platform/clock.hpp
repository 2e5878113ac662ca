// The clocks of the kernel, in seconds.
#pragma once
#include <cstdint>

namespace plimsoll::platform {

double monotonic_seconds();  // stands still while the machine is suspended
uint64_t monotonic_nanoseconds();
double boot_seconds();               // goes on while it is suspended
double processor_seconds();          // used by the calling thread
double process_seconds();            // used by all threads of this process
void sleep_seconds(double seconds);  // a signal ends it early

}  // namespace plimsoll::platform
