// The datagram socket on which a watched program can report its steps and phases and a guard can send it
// requests. Its path is in PLIMSOLL_SOCKET.
#pragma once
#include "observe/steps.hpp"
#include "platform/datagrams.hpp"

namespace plimsoll::observe {

class StepSocket : public platform::DatagramSocket {
 public:
  StepSocket() : DatagramSocket("steps") {}
  explicit StepSocket(const At& place) : DatagramSocket(place) {}

  // Everything waiting, in order; what is not a message of ours is counted and left aside. `verdict` asks for the
  // verdict so far: `answer` gives it.
  template <typename Event, typename Answer>
  void drain(Event&& event, Answer&& answer) {
    Sender sender;
    while (auto text = receive(sender))
      if (*text == "verdict")
        send(sender, answer());
      else if (auto message = parse_datagram(*text))
        event(*message);
      else
        ++refused_;
  }
  template <typename Event>
  void drain(Event&& event) {
    drain(event, [] { return std::string_view(); });
  }
  size_t refused() const { return refused_; }

 private:
  size_t refused_ = 0;
};

}  // namespace plimsoll::observe
