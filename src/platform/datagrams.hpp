// A datagram socket with its own path that other programs write to, and the sender of each message for replies.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "platform/owned_folder.hpp"

namespace plimsoll::platform {

class DatagramSocket {
 public:
  // Made as `name` in a fresh folder only the user may enter. Error where no socket can be made.
  explicit DatagramSocket(const std::string& name);
  // Made at `path`, where nothing may be yet; InputError where that cannot be done.
  struct At {
    std::string path;
  };
  explicit DatagramSocket(const At& place);
  ~DatagramSocket();
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  // Who sent a message; without an address of its own it cannot be answered.
  struct Sender {
    sockaddr_un address{};
    socklen_t length = 0;
    bool operator==(const Sender& other) const;
  };
  // The next one waiting, without allocating; valid until the next call.
  std::optional<std::string_view> receive(Sender& sender);
  // 0, or an errno code.
  int send(const Sender& to, std::string_view text) const;

 private:
  int bind_to(const sockaddr_un& address);
  std::optional<OwnedFolder> folder_;  // none: the caller named the path
  std::string path_;
  std::array<char, 1024> buffer_{};
  int descriptor_ = -1;
};

// Sends `text` to the socket at `path` and returns the answer of up to 64 KiB that comes from there; empty where none
// does within `seconds`. InputError where nobody listens.
std::string ask_datagram(const std::string& path, std::string_view text, double seconds);

}  // namespace plimsoll::platform
