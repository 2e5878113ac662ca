#include "ranks/vigil.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/descriptors.hpp"
#include "platform/machine.hpp"
#include "platform/signals.hpp"
#include "platform/sockets.hpp"

namespace plimsoll::ranks {
namespace {

constexpr double between_beats = 0.5, longest_silence = 6, time_to_leave = 2, time_to_connect = 5;
constexpr int exit_failed = 1;

// What travels: a beat, or whom rank 0 has lost.
struct Word {
  int32_t lost = -1;
  int32_t silent = 0;
};

// How the others find rank 0.
struct Meeting {
  uint16_t port = 0;
  std::array<std::array<char, 16>, 8> addresses{};
  std::array<char, 64> host{};
  uint64_t token = 0;
};
struct Hello {
  uint64_t token;
  int32_t rank;
};
using Host = std::array<char, 64>;

void say(int socket, const void* data, size_t bytes) {
  size_t moved = 0;  // what cannot be said now is said again with the next beat
  platform::send(socket, {static_cast<const char*>(data), bytes}, false, moved);
}

bool receive_all(int socket, void* data, size_t bytes, double until) {
  size_t done = 0;
  while (done < bytes && platform::monotonic_seconds() < until) {
    size_t moved = 0;
    if (platform::receive(socket, static_cast<char*>(data) + done, bytes - done, moved) ==
        platform::Transfer::over)
      return false;
    done += moved;
    if (moved == 0) platform::sleep_seconds(0.01);
  }
  return done == bytes;
}

Host own_host() {
  Host host{};
  std::strncpy(host.data(), platform::host_name().c_str(), host.size() - 1);
  return host;
}

int connect_to_first(const Meeting& meeting, int rank) {
  const bool same_host = std::strcmp(meeting.host.data(), own_host().data()) == 0;
  std::vector<std::string> addresses;
  for (const auto& address : meeting.addresses)
    if (address[0]) addresses.emplace_back(address.data());
  // Loopback is the last of them and leads to another machine's rank 0 only on its own.
  if (same_host) std::reverse(addresses.begin(), addresses.end());
  for (const std::string& address : addresses) {
    const int socket = platform::connect_to(address, meeting.port, time_to_connect / 2);
    if (socket < 0) continue;
    const Hello hello{meeting.token, rank};
    say(socket, &hello, sizeof hello);
    return socket;
  }
  return -1;
}

}  // namespace

std::unique_ptr<Vigil> Vigil::begin(const Team& team) {
  if (team.alone()) return nullptr;
  Meeting meeting;
  platform::ListeningSocket listening;
  if (team.first()) {
    listening = platform::listen_on("0.0.0.0", 0);
    meeting.port = listening.port;
    meeting.token = platform::monotonic_nanoseconds() ^ (uint64_t(platform::own_pid()) << 32);
    meeting.host = own_host();
    const auto addresses = platform::own_addresses();
    for (size_t i = 0; i < std::min(addresses.size(), meeting.addresses.size()); ++i)
      std::strncpy(meeting.addresses[i].data(), addresses[i].c_str(), meeting.addresses[i].size() - 1);
  }
  team.share(&meeting, sizeof meeting);
  std::vector<Host> hosts(size_t(team.size()));
  const Host host = own_host();
  team.collect(&host, sizeof host, hosts.data());
  team.share(hosts.data(), hosts.size() * sizeof(Host));

  std::vector<Peer> peers;
  const double until = platform::monotonic_seconds() + time_to_connect;
  if (!team.first()) {
    if (const int socket = connect_to_first(meeting, team.rank()); socket >= 0)
      peers.push_back({0, socket, platform::monotonic_seconds()});
  }
  while (team.first() && peers.size() + 1 < size_t(team.size()) && platform::monotonic_seconds() < until) {
    const int socket = platform::accept_connection(listening.descriptor).descriptor;
    Hello hello{};
    if (socket < 0) {
      platform::sleep_seconds(0.005);
    } else if (receive_all(socket, &hello, sizeof hello, until) && hello.token == meeting.token) {
      peers.push_back({hello.rank, socket, platform::monotonic_seconds()});
    } else {
      platform::close_socket(socket);
    }
  }
  if (listening.descriptor >= 0) platform::close_socket(listening.descriptor);
  const bool complete = peers.size() == (team.first() ? size_t(team.size()) - 1 : 1);
  if (!team.all(complete)) {
    for (const Peer& peer : peers) platform::close_socket(peer.socket);
    return nullptr;
  }
  std::vector<std::string> names;
  for (const Host& each : hosts) names.emplace_back(each.data());
  return std::unique_ptr<Vigil>(new Vigil(team, std::move(names), std::move(peers)));
}

Vigil::Vigil(const Team& team, std::vector<std::string> hosts, std::vector<Peer> peers)
    : rank_(team.rank()), hosts_(std::move(hosts)), peers_(std::move(peers)) {
  const SignalsBlocked blocked;  // signals are the main thread's
  thread_ = std::thread([this] { watch(); });
}

Vigil::~Vigil() {
  stop_ = true;
  thread_.join();
  for (const Peer& peer : peers_)
    if (peer.socket >= 0) platform::close_socket(peer.socket);
}

std::string Vigil::what() const {
  const int rank = lost_.load();
  return fmt::format(
      "rank {} on {} is lost: {}{}", rank, hosts_[size_t(rank)],
      silent_ ? fmt::format("it has not answered for {:g} s", longest_silence) : "its process has ended",
      advice_);
}

void Vigil::lose(int rank, bool silent) {
  if (finishing_ || lost() || rank == rank_) return;
  silent_ = silent;
  lost_since_ = platform::monotonic_seconds();
  lost_.store(rank, std::memory_order_release);
}

void Vigil::hear(Peer& peer, double now) {
  for (;;) {
    Word word;
    size_t moved = 0;
    const auto result = platform::receive(peer.socket, reinterpret_cast<char*>(&word), sizeof word, moved);
    if (result == platform::Transfer::later) return;
    if (result == platform::Transfer::over) {
      platform::close_socket(peer.socket);
      peer.socket = -1;
      return lose(peer.rank, false);
    }
    peer.heard = now;
    if (moved == sizeof word && word.lost >= 0 && word.lost < int(hosts_.size()))
      lose(word.lost, word.silent != 0);
  }
}

// The main thread may be far from the next message: then it is ended here.
void Vigil::leave_in_time(double now) {
  if (!lost() || finishing_ || now - lost_since_ < time_to_leave) return;
  platform::write_all(platform::standard_error, fmt::format("plimsoll: {}\n", what()));
  platform::leave_at_once(exit_failed);
}

void Vigil::watch() {
  double beaten = 0, last = platform::monotonic_seconds();
  while (!stop_) {
    platform::sleep_seconds(0.1);
    const double now = platform::monotonic_seconds();
    // If this process itself was stopped for a while, nobody else is to blame for the silence.
    if (now - last > longest_silence / 3)
      for (Peer& peer : peers_) peer.heard = now;
    last = now;
    const bool beat = now - beaten >= between_beats || lost();
    if (beat) beaten = now;
    for (Peer& peer : peers_) {
      if (peer.socket < 0) continue;
      if (beat) {
        const Word word{lost_.load(), silent_};
        say(peer.socket, &word, sizeof word);
      }
      hear(peer, now);
      if (peer.socket >= 0 && now - peer.heard > longest_silence) lose(peer.rank, true);
    }
    leave_in_time(now);
  }
}

}  // namespace plimsoll::ranks
