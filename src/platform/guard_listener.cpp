#include "platform/guard_listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace plimsoll {

GuardListener::GuardListener(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!path || !*path || std::strlen(path) >= sizeof address.sun_path) return;
  std::strcpy(address.sun_path, path);
  descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) return;
  // Bound to a name of the kernel's choice, so that there is somewhere to answer to.
  sa_family_t unnamed = AF_UNIX;
  if (bind(descriptor_, reinterpret_cast<sockaddr*>(&unnamed), sizeof unnamed) != 0 ||
      connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(descriptor_);
    descriptor_ = -1;
    return;
  }
  send("listen");
}

GuardListener::~GuardListener() {
  if (descriptor_ >= 0) close(descriptor_);
}

void GuardListener::send(std::string_view text) {
  if (descriptor_ >= 0) (void)!::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::optional<std::string_view> GuardListener::next() {
  constexpr std::string_view key = "\"guard\":\"";
  for (;;) {
    ssize_t got = descriptor_ < 0 ? -1 : recv(descriptor_, buffer_.data(), buffer_.size(), 0);
    if (got < 0) return std::nullopt;
    std::string_view text(buffer_.data(), size_t(got));
    size_t at = text.find(key);
    if (at == text.npos) continue;
    text.remove_prefix(at + key.size());
    return text.substr(0, text.find('"'));
  }
}

void GuardListener::shrunk(uint64_t bytes) {
  char text[32];
  auto end = fmt::format_to_n(text, sizeof text, "shrunk {}", bytes);
  send({text, end.size});
}

void GuardListener::step(int64_t step) {
  char text[32];
  auto end = fmt::format_to_n(text, sizeof text, "step {}", step);
  send({text, end.size});
}

}  // namespace plimsoll
