// The datagram socket a watched program may tell its steps and phases to; its path is in PLIMSOLL_SOCKET.
#pragma once
#include <string>

#include "observe/steps.hpp"

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
    std::string text;
    while (receive(text))
      if (auto message = parse_datagram(text))
        event(*message);
      else
        ++refused_;
  }
  size_t refused() const { return refused_; }

 private:
  bool receive(std::string& text);
  std::string folder_, path_;
  int descriptor_ = -1;
  size_t refused_ = 0;
};

}  // namespace plimsoll::observe
