#include "platform/descriptors.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"

namespace plimsoll::platform {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(size_t(written));
  }
}

bool is_tty(int file) { return isatty(file); }

TtySize tty_size(int file) {
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

bool wait_for(std::span<Awaited> awaited, double seconds) {
  std::array<pollfd, 8> waits;
  const size_t count = std::min(awaited.size(), waits.size());
  for (size_t i = 0; i < count; ++i)
    waits[i] = {awaited[i].descriptor, short(awaited[i].write ? POLLOUT : POLLIN), 0};
  const timespec time{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  const int ready = ppoll(waits.data(), count, &time, nullptr);
  if (ready < 0 && errno != EINTR) fail("waiting for the watched program failed (error {})", errno);
  for (size_t i = 0; i < count; ++i) awaited[i].ready = ready > 0 && waits[i].revents != 0;
  return ready > 0;
}

}  // namespace plimsoll::platform
