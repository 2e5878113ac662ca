// The datagram socket on which a watched program can report its steps and phases and a guard can send it
// requests. Its path is in PLIMSOLL_SOCKET.
#pragma once
#include "observe/steps.hpp"
#include "platform/datagrams.hpp"

namespace plimsoll::observe {

class StepSocket : public platform::DatagramSocket {
 public:
  StepSocket() : DatagramSocket("steps") {}

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
  size_t refused() const { return refused_; }

 private:
  size_t refused_ = 0;
};

}  // namespace plimsoll::observe
