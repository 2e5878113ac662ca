// Forwards one output stream of a watched program byte for byte and in order, and passes it to a reader on
// the way.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "platform/descriptors.hpp"

namespace plimsoll::platform {

class Relay {
 public:
  // `from` is made non-blocking; neither descriptor is closed here.
  Relay(int from, int to, std::function<void(std::string_view)> reader);

  bool open() const { return from_ >= 0; }
  // What to wait for: bytes to read, or room to write those read before.
  Awaited wants() const;
  // After waiting: moves what can be moved without blocking.
  void advance(bool ready);
  // Reads and writes until the stream has nothing more for now; at the end of watching.
  void drain();
  bool ends_with_newline() const { return last_ == '\n'; }
  // Whoever reads our output has gone: the program is to learn of it by its own closed pipe.
  bool broken() const { return broken_; }

 private:
  void read_more();
  void write_pending();
  int from_, to_;
  std::function<void(std::string_view)> reader_;
  std::string pending_;
  size_t written_ = 0, piece_;
  char last_ = '\n';
  bool broken_ = false;
};

}  // namespace plimsoll::platform
