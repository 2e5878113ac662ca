// The datagram socket a watched program may tell its steps and phases to, and over which a guard may ask it
// for something; its path is in PLIMSOLL_SOCKET.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "observe/steps.hpp"
#include "platform/owned_folder.hpp"

namespace plimsoll::observe {

class StepSocket {
 public:
  // Made in a fresh folder only the user may enter. fail() where no socket can be made.
  StepSocket();
  ~StepSocket();
  StepSocket(const StepSocket&) = delete;
  StepSocket& operator=(const StepSocket&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  // Everything waiting, in order; what is not a message of ours is counted and left aside.
  template <typename Event>
  void drain(Event&& event) {
    Sender sender;
    while (auto text = receive(sender))
      if (auto message = parse_datagram(*text))
        event(*message);
      else
        ++refused_;
  }
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
  size_t refused() const { return refused_; }

 private:
  std::optional<platform::OwnedFolder> folder_;
  std::string path_;
  std::array<char, 1024> buffer_{};
  int descriptor_ = -1;
  size_t refused_ = 0;
};

}  // namespace plimsoll::observe
