#include "platform/sockets.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/error.hpp"

namespace plimsoll::platform {
namespace {

constexpr size_t most_ready = 64;

socklen_t fill(const std::string& address, uint16_t port, sockaddr_storage& storage) {
  std::memset(&storage, 0, sizeof storage);
  if (address.find(':') == std::string::npos) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
    return sizeof v4;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
  return sizeof v6;
}

Transfer outcome(ssize_t result, size_t& moved) {
  moved = result > 0 ? size_t(result) : 0;
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return Transfer::later;
  return result <= 0 ? Transfer::over : Transfer::moved;
}

}  // namespace

bool is_ipv4(std::string_view text) {
  in_addr address;
  return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}
bool is_ipv6(std::string_view text) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

bool is_loopback(std::string_view text) {
  const std::string address(text);
  in_addr v4;
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

ListeningSocket listen_on(const std::string& address, uint16_t port) {
  const bool v6 = address.find(':') != std::string::npos;
  sockaddr_storage storage;
  socklen_t length = fill(address, port, storage);
  const int descriptor = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto* raw = reinterpret_cast<sockaddr*>(&storage);
  if (descriptor < 0 || bind(descriptor, raw, length) != 0 || listen(descriptor, 128) != 0 ||
      getsockname(descriptor, raw, &length) != 0) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    return {.error = error};
  }
  return {.descriptor = descriptor,
          .port = ntohs(v6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                           : reinterpret_cast<sockaddr_in&>(storage).sin_port)};
}

int connect_to(const std::string& address, uint16_t port, double seconds) {
  sockaddr_storage storage;
  const socklen_t length = fill(address, port, storage);
  const int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  int error = connect(descriptor, reinterpret_cast<sockaddr*>(&storage), length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{descriptor, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (poll(&waiting, 1, int(seconds * 1000)) != 1 ||
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = ETIMEDOUT;
  }
  if (error == 0) return descriptor;
  close(descriptor);
  return -1;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> found, loopback;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {"127.0.0.1"};
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP)) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    (one->ifa_flags & IFF_LOOPBACK ? loopback : found).push_back(text);
  }
  freeifaddrs(all);
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

Accepted accept_connection(int listening) {
  const int descriptor = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return {.out_of_descriptors = errno == EMFILE || errno == ENFILE};
  const int buffer = 256 * 1024;
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  return {.descriptor = descriptor};
}

Transfer receive(int socket, char* data, size_t size, size_t& moved) {
  return outcome(recv(socket, data, size, MSG_DONTWAIT), moved);
}

Transfer send(int socket, std::string_view data, bool more, size_t& moved) {
  return outcome(
      ::send(socket, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0)), moved);
}

void finish_sending(int socket) { shutdown(socket, SHUT_WR); }
void close_socket(int socket) { close(socket); }

int make_packet_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
}

Poller::Poller() : descriptor_(epoll_create1(EPOLL_CLOEXEC)) {
  if (descriptor_ < 0) fail("cannot create an epoll instance ({})", std::strerror(errno));
  ready_.reserve(most_ready);
}
Poller::~Poller() { close(descriptor_); }

namespace {
void control(int poller, int operation, int socket, uint64_t tag, Poller::For what) {
  epoll_event event{.events = what == Poller::For::reading ? EPOLLIN : EPOLLOUT, .data = {.u64 = tag}};
  epoll_ctl(poller, operation, socket, &event);
}
}  // namespace

void Poller::add(int socket, uint64_t tag, For what) {
  control(descriptor_, EPOLL_CTL_ADD, socket, tag, what);
}
void Poller::change(int socket, uint64_t tag, For what) {
  control(descriptor_, EPOLL_CTL_MOD, socket, tag, what);
}
void Poller::remove(int socket) { epoll_ctl(descriptor_, EPOLL_CTL_DEL, socket, nullptr); }

std::span<const Poller::Ready> Poller::wait(double seconds) {
  std::array<epoll_event, most_ready> events;
  const int count =
      epoll_wait(descriptor_, events.data(), int(events.size()), int(std::ceil(seconds * 1000)));
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[size_t(i)];
    ready_.push_back({event.data.u64, (event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0,
                      (event.events & EPOLLOUT) != 0});
  }
  return ready_;
}

}  // namespace plimsoll::platform
