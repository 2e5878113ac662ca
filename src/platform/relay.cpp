#include "platform/relay.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace plimsoll::platform {

Relay::Relay(int from, int to, std::function<void(std::string_view)> reader)
    : from_(from), to_(to), reader_(std::move(reader)) {
  if (from_ >= 0) fcntl(from_, F_SETFL, fcntl(from_, F_GETFL) | O_NONBLOCK);
  // A pipe that polls writable takes PIPE_BUF bytes without blocking, and `to` may be shared with others, so
  // it is not ours to make non-blocking. Files take anything.
  struct stat facts;
  bool file = fstat(to_, &facts) == 0 && S_ISREG(facts.st_mode);
  piece_ = file ? SIZE_MAX : PIPE_BUF;
}

Awaited Relay::wants() const {
  if (!open()) return {};
  return pending_.empty() ? Awaited{from_} : Awaited{to_, true};
}

void Relay::advance(bool ready) {
  if (!open() || !ready) return;
  if (pending_.empty())
    read_more();
  else
    write_pending();
}

void Relay::read_more() {
  pending_.resize(65536);
  ssize_t got = read(from_, pending_.data(), pending_.size());
  pending_.resize(got > 0 ? size_t(got) : 0);
  if (got > 0) {
    last_ = pending_.back();
    reader_(pending_);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    from_ = -1;
  }
}

void Relay::write_pending() {
  ssize_t put = write(to_, pending_.data() + written_, std::min(pending_.size() - written_, piece_));
  if (put < 0 && errno != EAGAIN && errno != EINTR) {
    broken_ = true;
    from_ = -1;
    return;
  }
  written_ += size_t(std::max<ssize_t>(put, 0));
  if (written_ == pending_.size()) pending_.clear(), written_ = 0;
}

void Relay::drain() {
  while (open()) {
    if (pending_.empty()) {
      read_more();
      if (pending_.empty()) return;
    }
    pollfd out{to_, POLLOUT, 0};
    poll(&out, 1, 1000);
    write_pending();
  }
}

}  // namespace plimsoll::platform
