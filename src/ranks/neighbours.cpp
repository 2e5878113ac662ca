#include "ranks/neighbours.hpp"

#include <atomic>
#include <cstring>
#include <functional>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/machine.hpp"
#include "platform/other_memory.hpp"

namespace plimsoll::ranks {
namespace {

constexpr uint32_t slots_of_ring = 64;  // a power of two: numbers of messages wrap around
constexpr size_t bytes_in_slot = 56;    // messages that are not larger travel in it

// Transfers with one rank, in their order. Grows to as many as are ever under way at once.
struct Transfer {
  std::byte* data;
  size_t bytes;
};
class Transfers {
 public:
  bool empty() const { return first_ == all_.size(); }
  const Transfer& front() const { return all_[first_]; }
  void push(Transfer transfer) { all_.push_back(transfer); }
  void pop() {
    if (++first_ == all_.size()) all_.clear(), first_ = 0;
  }

 private:
  std::vector<Transfer> all_;
  size_t first_ = 0;
};

}  // namespace

struct Neighbours::Slot {
  uint64_t bytes;
  union {
    uint64_t address;
    std::byte inside[bytes_in_slot];
  };
};

// Messages from one rank to another.
struct Neighbours::Ring {
  alignas(64) std::atomic<uint32_t> sent;   // by the sender
  alignas(64) std::atomic<uint32_t> taken;  // by the receiver
  alignas(64) Slot slots[slots_of_ring];
};

// What a rank shares with its neighbours. Behind it lies a ring for each rank that sends to it.
struct Neighbours::Room {
  uint64_t token;
  alignas(64) std::atomic<uint32_t> bell;    // rung when something was done that this rank may wait for
  alignas(64) std::atomic<uint32_t> asleep;  // whether it does

  static size_t bytes_for(int ranks) { return sizeof(Room) + sizeof(Ring) * size_t(ranks); }
  static Room& in(const platform::SharedPages& pages) { return *reinterpret_cast<Room*>(pages.data()); }
  Ring& from(int rank) { return reinterpret_cast<Ring*>(this + 1)[rank]; }
  void wake() {
    bell.fetch_add(1);
    if (asleep.load()) platform::wake_shared(bell, 1);
  }
};

// How a rank is found by those of its machine.
struct Neighbours::Card {
  uint64_t world = 0, token = 0, address = 0;
  int32_t pid = 0, descriptor = -1;
};

struct Neighbours::Peer {
  int rank, pid;
  platform::SharedPages pages;
  Room& room;
  Ring &to, &from;
  Transfers outgoing = {}, incoming = {};  // those not in the ring yet, and those not taken yet
  uint32_t promised = 0, published = 0;    // messages to it
  uint32_t expected = 0, received = 0;     // messages from it
};

Neighbours::Neighbours(int ranks) : own_(Room::bytes_for(ranks)), peers_(size_t(ranks)) {}
Neighbours::~Neighbours() = default;

std::unique_ptr<Neighbours> Neighbours::begin(const Team& team, bool wanted) {
  std::unique_ptr<Neighbours> near(new Neighbours(team.size()));
  Room& own = Room::in(near->own_);
  own.token = platform::monotonic_nanoseconds() ^ (uint64_t(platform::own_pid()) << 40);
  platform::let_memory_be_read();
  const uint64_t token = own.token;
  const Card card{std::hash<std::string>()(platform::shared_world()), token,
                  reinterpret_cast<uint64_t>(&token), platform::own_pid(), near->own_.descriptor()};
  std::vector<Card> all(size_t(team.size()));
  team.collect(&card, sizeof card, all.data());
  team.share(all.data(), all.size() * sizeof(Card));
  for (int rank = 0; rank < team.size(); ++rank)
    if (rank != team.rank() && all[size_t(rank)].world == card.world && wanted)
      near->meet(team, rank, all[size_t(rank)]);
  near->agree(team);
  team.meet();  // until here others look at `token`
  return near->count() > 1 ? std::move(near) : nullptr;
}

// A neighbour, if what it says of itself can be read.
void Neighbours::meet(const Team& team, int rank, const Card& card) {
  auto pages = platform::SharedPages::open(card.pid, card.descriptor, Room::bytes_for(team.size()));
  uint64_t token = 0;
  if (!pages || Room::in(*pages).token != card.token ||
      !platform::read_memory(card.pid, card.address, &token, sizeof token) || token != card.token)
    return;
  Room& room = Room::in(*pages);
  peers_[size_t(rank)].reset(
      new Peer{rank, card.pid, std::move(*pages), room, room.from(team.rank()), Room::in(own_).from(rank)});
}

// Two ranks are neighbours if both say so.
void Neighbours::agree(const Team& team) {
  Communicator& to = *team.communicator();
  const size_t ranks = peers_.size();
  std::vector<uint8_t> mine(ranks), theirs(ranks);
  std::vector<int> tickets;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (int(rank) == team.rank()) continue;
    mine[rank] = peers_[rank] != nullptr;
    tickets.push_back(to.receive(int(rank), &theirs[rank], 1));
    tickets.push_back(to.send(int(rank), &mine[rank], 1));
  }
  for (int ticket : tickets) to.wait(ticket);
  for (size_t rank = 0; rank < ranks; ++rank)
    if (mine[rank] && theirs[rank])
      near_.push_back(peers_[rank].get());
    else
      peers_[rank].reset();
}

int Neighbours::ticket_for(const Ticket& ticket) {
  if (unused_.empty()) {
    unused_.push_back(int(tickets_.size()));
    tickets_.push_back(ticket);
    unused_.reserve(tickets_.capacity());
  }
  const int number = unused_.back();
  unused_.pop_back();
  tickets_[size_t(number)] = ticket;
  return number;
}

int Neighbours::send(int to, const void* data, size_t bytes) {
  Peer& peer = *peers_[size_t(to)];
  peer.outgoing.push({static_cast<std::byte*>(const_cast<void*>(data)), bytes});
  publish(peer);
  return ticket_for(
      {&peer, peer.promised++, bytes <= bytes_in_slot ? Ticket::Kind::copied : Ticket::Kind::sent});
}

int Neighbours::receive(int from, void* data, size_t bytes) {
  Peer& peer = *peers_[size_t(from)];
  peer.incoming.push({static_cast<std::byte*>(data), bytes});
  return ticket_for({&peer, peer.expected++, Ticket::Kind::received});
}

// As many messages as the ring has room for.
void Neighbours::publish(Peer& peer) const {
  const uint32_t before = peer.published;
  while (!peer.outgoing.empty() &&
         peer.published - peer.to.taken.load(std::memory_order_acquire) < slots_of_ring) {
    const Transfer& next = peer.outgoing.front();
    Slot& slot = peer.to.slots[peer.published % slots_of_ring];
    slot.bytes = next.bytes;
    if (next.bytes > bytes_in_slot)
      slot.address = reinterpret_cast<uint64_t>(next.data);
    else if (next.bytes > 0)
      std::memcpy(slot.inside, next.data, next.bytes);
    peer.outgoing.pop();
    peer.to.sent.store(++peer.published, std::memory_order_release);
  }
  if (peer.published != before) peer.room.wake();
}

// Whatever has arrived and is expected.
void Neighbours::take(Peer& peer) const {
  const uint32_t before = peer.received;
  while (!peer.incoming.empty() && peer.from.sent.load(std::memory_order_acquire) != peer.received) {
    const Transfer& next = peer.incoming.front();
    const Slot& slot = peer.from.slots[peer.received % slots_of_ring];
    if (slot.bytes != next.bytes)
      fail("[ranks] rank {} sent {} bytes where {} were expected", peer.rank, slot.bytes, next.bytes);
    if (next.bytes > bytes_in_slot) {
      if (!platform::read_memory(peer.pid, slot.address, next.data, next.bytes))
        throw RankLost(fmt::format("[ranks] the memory of rank {} cannot be read any more", peer.rank));
    } else if (next.bytes > 0) {
      std::memcpy(next.data, slot.inside, next.bytes);
    }
    peer.incoming.pop();
    peer.from.taken.store(++peer.received, std::memory_order_release);
  }
  if (peer.received != before) peer.room.wake();
}

bool Neighbours::done(int number) {
  // All transfers go on, whichever is asked about: others may wait for them.
  for (Peer* peer : near_) publish(*peer), take(*peer);
  const Ticket& ticket = tickets_[size_t(number)];
  const Peer& peer = *ticket.peer;
  const uint32_t ended = ticket.kind == Ticket::Kind::received ? peer.received
                         : ticket.kind == Ticket::Kind::copied
                             ? peer.published
                             : peer.to.taken.load(std::memory_order_acquire);
  const bool is_done = int32_t(ended - ticket.number) > 0;
  if (is_done) unused_.push_back(number);
  return is_done;
}

uint32_t Neighbours::heard() const { return Room::in(own_).bell.load(); }

void Neighbours::sleep(uint32_t heard, double at_most) const {
  Room& own = Room::in(own_);
  own.asleep.store(1);
  platform::sleep_while_shared(own.bell, heard, at_most);
  own.asleep.store(0);
}

}  // namespace plimsoll::ranks
