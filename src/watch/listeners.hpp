// The programs that have sent `listen` to the socket: they are notified of levels and can be asked to release
// memory. docs/guard.md describes the messages.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "guard/guard.hpp"
#include "observe/step_socket.hpp"

namespace plimsoll::watch {

class Listeners {
 public:
  static constexpr size_t most = 16;

  explicit Listeners(observe::StepSocket& socket) : socket_(socket) {}

  struct Heard {
    std::optional<int64_t> step;
    std::optional<uint64_t> given_back;  // a listener has answered
    bool joined = false;                 // a listener is new
  };
  // The next message waiting, or nullopt.
  std::optional<Heard> next();
  // Tells everybody; returns how many it reached. Those that are gone are forgotten. Nothing waits: a
  // listener that does not read misses it.
  size_t tell(const guard::Decision& decision);
  // Whether anybody may still have something to give.
  bool can_shrink() const;
  size_t size() const { return size_; }

 private:
  struct Listener {
    observe::StepSocket::Sender sender;
    bool can_shrink = true;
  };
  Listener* find(const observe::StepSocket::Sender& sender);

  observe::StepSocket& socket_;
  std::array<Listener, most> listeners_;
  size_t size_ = 0;
};

}  // namespace plimsoll::watch
