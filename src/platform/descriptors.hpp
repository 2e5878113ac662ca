// Standard streams and other open descriptors: writing to them, waiting for them, and determining their kind.
#pragma once
#include <span>
#include <string_view>

namespace plimsoll::platform {

inline constexpr int standard_output = 1, standard_error = 2;

// Writes everything, or as much as the other end takes before it fails. Allocates nothing.
void write_all(int file, std::string_view text);
bool is_tty(int file);

struct TtySize {
  int columns = 0, rows = 0;  // 0: not known
};
TtySize tty_size(int file);

// What is waited for, and whether it came; a descriptor of -1 is waited for in vain.
struct Awaited {
  int descriptor = -1;
  bool write = false;  // room to write; else something to read, or the end
  bool ready = false;
};
// True as soon as something is ready; false when the time has passed or a signal came. Error when waiting fails.
bool wait_for(std::span<Awaited> awaited, double seconds);

}  // namespace plimsoll::platform
