// Messages between ranks of one machine, without a library in between. What is sent stays where it is: the sender says in a
// ring in shared memory where that is, and the receiver copies it from the memory of the sender to its own place, once. A
// sender need do nothing until its message is taken.
//
//   const auto near = Neighbours::begin(team);
//   if (near && near->has(1)) ticket = near->send(1, data, bytes);
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "platform/shared_pages.hpp"
#include "ranks/communicator.hpp"

namespace plimsoll::ranks {

class Neighbours {
 public:
  // On all ranks at once. Null where no other rank is on this machine, or its memory may not be read.
  // So it is where this rank does not want any.
  static std::unique_ptr<Neighbours> begin(const Team& team, bool wanted = true);
  ~Neighbours();

  bool has(int rank) const { return peers_[size_t(rank)] != nullptr; }
  int count() const { return 1 + int(near_.size()); }  // this rank included

  // As those of a Communicator. RankLost where the memory of the sender cannot be read any more.
  int send(int to, const void* data, size_t bytes);
  int receive(int from, void* data, size_t bytes);
  bool done(int ticket);

  // Sleeps until a neighbour has done something since heard() was asked, or as many seconds.
  uint32_t heard() const;
  void sleep(uint32_t heard, double at_most) const;

 private:
  struct Slot;
  struct Ring;
  struct Room;
  struct Card;
  struct Peer;
  struct Ticket {
    enum class Kind : uint8_t { sent, copied, received };
    Peer* peer;
    uint32_t number;  // of the messages in its direction
    Kind kind;
  };
  explicit Neighbours(int ranks);
  void meet(const Team& team, int rank, const Card& card);
  void agree(const Team& team);
  int ticket_for(const Ticket& ticket);
  void publish(Peer& peer) const;
  void take(Peer& peer) const;

  platform::SharedPages own_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: not near
  std::vector<Peer*> near_;                   // the others
  std::vector<Ticket> tickets_;
  std::vector<int> unused_;
};

}  // namespace plimsoll::ranks
