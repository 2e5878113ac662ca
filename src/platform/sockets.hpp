// Non-blocking stream sockets: listening on a numeric address, transferring bytes, and waiting for many at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::platform {

// Of numeric addresses; names are not looked up.
bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);
bool is_loopback(std::string_view address);

struct ListeningSocket {
  int descriptor = -1;
  uint16_t port = 0;
  int error = 0;  // errno code where there is no descriptor
};
// Port 0: a free one.
ListeningSocket listen_on(const std::string& address, uint16_t port);

// Connects to a numeric address; -1 where nobody answers within the time.
int connect_to(const std::string& address, uint16_t port, double seconds);
// The IPv4 addresses of this machine by which others may reach it, the loopback last.
std::vector<std::string> own_addresses();

struct Accepted {
  int descriptor = -1;              // -1: nobody is waiting
  bool out_of_descriptors = false;  // somebody is, but this process may open no more files
};
Accepted accept_connection(int listening);

enum class Transfer { moved, later, over };  // over: the other side is gone
Transfer receive(int socket, char* data, size_t size, size_t& moved);
// With `more`, the bytes wait for those that are sent next.
Transfer send(int socket, std::string_view data, bool more, size_t& moved);
// Nothing more will be sent; what the other side sends can still be received.
void finish_sending(int socket);
void close_socket(int socket);

// Two ends that pass whole messages to each other. 0, or an errno code.
int make_packet_pair(int ends[2]);

// Waits for many sockets at once; each is known by a tag.
class Poller {
 public:
  enum class For { reading, writing };
  struct Ready {
    uint64_t tag = 0;
    bool readable = false, writable = false;  // readable: or its end
  };
  Poller();  // Error when there can be none
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void add(int socket, uint64_t tag, For what);
  void change(int socket, uint64_t tag, For what);
  void remove(int socket);  // one that is closed leaves by itself
  // Valid until the next call; empty when the time has passed.
  std::span<const Ready> wait(double seconds);

 private:
  int descriptor_;
  std::vector<Ready> ready_;
};

}  // namespace plimsoll::platform
