#include "platform/out_of_memory.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "platform/allocations.hpp"
#include "platform/descriptors.hpp"

namespace plimsoll::platform {
namespace {

// Files are written under other names and renamed when they are whole: nothing has to be put in order here.
[[noreturn]] void end_now() {
  say_out_of_memory();
  _exit(1);
}

// libstdc++ ends here from functions that must not throw, and does not say what was thrown.
[[noreturn]] void at_terminate() {
  if (memory_was_refused()) end_now();
  std::abort();
}

}  // namespace

void end_plainly_without_memory() {
  // Not by an exception: constructors before main, threads and the JSON library (which destroys values it has not
  // finished) do not survive one.
  std::set_new_handler(end_now);
  std::set_terminate(at_terminate);
}

bool memory_was_refused() { return allocation_counts.refused.load(std::memory_order_relaxed); }

void say_out_of_memory(std::string_view what) {
  write_all(STDERR_FILENO, "plimsoll: out of memory");
  if (!what.empty()) write_all(STDERR_FILENO, ": "), write_all(STDERR_FILENO, what);
  write_all(STDERR_FILENO, "\n");
}

}  // namespace plimsoll::platform
