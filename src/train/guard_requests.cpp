#include "train/guard_requests.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace plimsoll {
namespace {

// The text between the next pair of quotes, taken off the front.
std::string_view next_word(std::string_view& text) {
  const size_t open = text.find('"');
  const size_t close = open == text.npos ? open : text.find('"', open + 1);
  if (close == text.npos) return text = {};
  const std::string_view word = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  return word;
}

}  // namespace

GuardRequests::GuardRequests(const char* path) {
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  if (!path || !*path || std::strlen(path) >= sizeof there.sun_path) return;
  std::strcpy(there.sun_path, path);
  descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) return;
  // An address of our own to be answered at, chosen by the kernel; connected, nobody else is heard.
  sockaddr_un here{};
  here.sun_family = AF_UNIX;
  char text[96];
  const auto end =
      fmt::format_to_n(text, sizeof text, "{{\"listens\":[\"shrink\",\"grow\"],\"pid\":{}}}", getpid());
  if (bind(descriptor_, reinterpret_cast<sockaddr*>(&here), sizeof here.sun_family) == 0 &&
      connect(descriptor_, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0 &&
      send(descriptor_, text, end.size, MSG_NOSIGNAL) > 0)
    return;
  close(descriptor_);
  descriptor_ = -1;
}

GuardRequests::~GuardRequests() {
  if (descriptor_ >= 0) close(descriptor_);
}

GuardRequests::Asked GuardRequests::parse(std::string_view line) {
  while (!line.empty()) {
    if (next_word(line) != "guard") continue;
    const size_t colon = line.find_first_not_of(" \t");
    if (colon == line.npos || line[colon] != ':') continue;
    const std::string_view what = next_word(line);
    if (what == "shrink") return Asked::shrink;
    if (what == "grow" || what == "ok") return Asked::grow;
    return Asked::nothing;
  }
  return Asked::nothing;
}

GuardRequests::Asked GuardRequests::next() const {
  Asked newest = Asked::nothing;
  char line[512];
  for (ssize_t got; descriptor_ >= 0 && (got = recv(descriptor_, line, sizeof line, 0)) >= 0;)
    if (const Asked asked = parse({line, size_t(got)}); asked != Asked::nothing) newest = asked;
  return newest;
}

}  // namespace plimsoll
