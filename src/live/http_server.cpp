#include "live/http_server.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "base/error.hpp"

namespace plimsoll::live {
namespace {

constexpr double drain_seconds =
    1;  // after an answer, for the client to read it before the connection is gone
constexpr size_t listening_tag = SIZE_MAX, wake_tag = SIZE_MAX - 1;

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

// Scripts and styles come from this server only and none is inline; nothing may frame the page or learn where it was.
constexpr std::string_view safety =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n";

}  // namespace

HttpResponse plain(int status, std::string text) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(text))};
}

HttpServer::HttpServer(int listening, Handler handler, HttpLimits limits)
    : listening_(listening),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      handler_(std::move(handler)),
      limits_(limits),
      connections_(limits.connections) {
  if (poll_ < 0) fail("[serve] no epoll can be made ({})", errno);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = listening_tag}};
  epoll_ctl(poll_, EPOLL_CTL_ADD, listening_, &event);
}

HttpServer::~HttpServer() {
  for (Connection& connection : connections_) drop(connection);
  close(poll_);
  close(listening_);
}

size_t HttpServer::connections() const {
  return size_t(std::count_if(connections_.begin(), connections_.end(),
                              [](const Connection& connection) { return connection.state != State::free; }));
}
size_t HttpServer::streams() const {
  return size_t(std::count_if(connections_.begin(), connections_.end(),
                              [](const Connection& connection) { return connection.stream; }));
}

size_t HttpServer::unsent(const Connection& connection) {
  return connection.head_size + (connection.body ? connection.body->size() : 0) - connection.sent;
}

void HttpServer::watch(Connection& connection, unsigned events, int operation) const {
  epoll_event event{.events = events, .data = {.u64 = uint64_t(&connection - connections_.data())}};
  epoll_ctl(poll_, operation, connection.descriptor, &event);
}

void HttpServer::drop(Connection& connection) {
  if (connection.state == State::free) return;
  close(connection.descriptor);  // leaves epoll with it
  connection.descriptor = -1;
  connection.state = State::free;
  connection.body.reset();
  connection.stream = false;
}

// A free place, if need be that of whoever has kept us waiting longest; those being answered come last.
HttpServer::Connection* HttpServer::room() {
  Connection* oldest = nullptr;
  const auto rank = [](const Connection& connection) {
    return connection.state == State::draining ? 0 : connection.state == State::reading ? 1 : 2;
  };
  for (Connection& connection : connections_) {
    if (connection.state == State::free) return &connection;
    if (connection.state == State::streaming) continue;
    if (!oldest || rank(connection) < rank(*oldest) ||
        (rank(connection) == rank(*oldest) && connection.since < oldest->since))
      oldest = &connection;
  }
  if (oldest) drop(*oldest);
  return oldest;
}

void HttpServer::accept_all() {
  for (size_t i = 0; i < connections_.size(); ++i) {  // no more at once: those there are must get their turn
    const int descriptor = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EMFILE || errno == ENFILE) room();  // makes a descriptor free for the next turn
      return;
    }
    Connection* connection = room();
    if (!connection) {
      close(descriptor);
      continue;
    }
    const int buffer = 256 * 1024;
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    connection->descriptor = descriptor;
    connection->state = State::reading;
    connection->since = now();
    connection->deadline = connection->since + limits_.request_seconds;
    connection->received = 0;
    watch(*connection, EPOLLIN, EPOLL_CTL_ADD);
    receive(*connection);  // most requests are there already
  }
}

void HttpServer::receive(Connection& connection) {
  if (connection.state != State::reading) {
    // Nothing more is expected: what comes is thrown away, the end of it ends the connection.
    char ignored[4096];
    const ssize_t got = recv(connection.descriptor, ignored, sizeof ignored, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) drop(connection);
    return;
  }
  const ssize_t got = recv(connection.descriptor, connection.input + connection.received,
                           sizeof connection.input - connection.received, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(connection);
  connection.received += size_t(got);
  const ParsedRequest parsed = parse_request({connection.input, connection.received});
  if (parsed.status == 0) return;
  if (parsed.status != 200)
    return answer(connection, plain(parsed.status, "refused: not a request this server takes\n"), true);
  const HttpRequest& request = parsed.request;
  HttpResponse response = handler_(request);
  if (response.stream && streams() >= limits_.streams)
    response = plain(503, "as many live pages as can be served are open; close one\n");
  answer(connection, response, request.method != "HEAD");
}

void HttpServer::answer(Connection& connection, const HttpResponse& response, bool with_body) {
  const size_t length = response.body ? response.body->size() : 0;
  const auto end = fmt::format_to_n(
      connection.head, sizeof connection.head, "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}{}{}\r\n",
      response.status, reason(response.status), response.type,
      response.stream ? std::string() : fmt::format("Content-Length: {}\r\n", length), safety,
      response.header);
  if (end.size > sizeof connection.head) return drop(connection);  // a handler's mistake, never a client's
  connection.head_size = end.size;
  connection.body = with_body ? response.body : nullptr;
  connection.sent = 0;
  connection.stream = response.stream && with_body;
  connection.state = State::writing;
  connection.deadline = now() + limits_.stall_seconds;
  watch(connection, EPOLLOUT, EPOLL_CTL_MOD);
  send(connection);
}

void HttpServer::send(Connection& connection) {
  while (unsent(connection)) {
    const bool head = connection.sent < connection.head_size;
    const std::string_view rest =
        head ? std::string_view(connection.head, connection.head_size).substr(connection.sent)
             : std::string_view(*connection.body).substr(connection.sent - connection.head_size);
    const bool more = head && connection.body;
    const ssize_t taken =
        ::send(connection.descriptor, rest.data(), rest.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (taken < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (taken <= 0) return drop(connection);
    connection.sent += size_t(taken);
    connection.deadline = now() + limits_.stall_seconds;
  }
  connection.body.reset();
  connection.head_size = connection.sent = 0;
  if (connection.stream) {
    connection.state = State::streaming;
  } else {
    // Closing at once would let unread input tear the answer away from the client.
    shutdown(connection.descriptor, SHUT_WR);
    connection.state = State::draining;
    connection.deadline = now() + drain_seconds;
  }
  watch(connection, EPOLLIN, EPOLL_CTL_MOD);
}

void HttpServer::broadcast(Body text) {
  for (Connection& connection : connections_) {
    if (!connection.stream) continue;
    if (connection.state != State::streaming) {
      drop(connection);
      continue;
    }
    connection.body = text;
    connection.state = State::writing;
    connection.deadline = now() + limits_.stall_seconds;
    watch(connection, EPOLLOUT, EPOLL_CTL_MOD);
    send(connection);
  }
}

void HttpServer::drop_late() {
  const double time = now();
  for (Connection& connection : connections_) {
    if (connection.state == State::free || connection.state == State::streaming || time < connection.deadline)
      continue;
    if (connection.state == State::reading && connection.received)
      answer(connection, plain(408, "the request did not end in time\n"), true);
    else
      drop(connection);
  }
}

bool HttpServer::run(double seconds, int wake) {
  if (wake != wake_) {
    if (wake_ >= 0) epoll_ctl(poll_, EPOLL_CTL_DEL, wake_, nullptr);
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = wake_tag}};
    if (wake >= 0) epoll_ctl(poll_, EPOLL_CTL_ADD, wake, &event);
    wake_ = wake;
  }
  const double until = now() + seconds;
  for (double left = seconds; left > 0; left = until - now()) {
    std::array<epoll_event, 64> events;
    // A deadline is looked at four times a second while there is anybody to have one.
    const double longest = connections() > streams() ? std::min(left, 0.25) : left;
    const int ready = epoll_wait(poll_, events.data(), int(events.size()), int(std::ceil(longest * 1000)));
    bool woken = false;
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[size_t(i)];
      if (event.data.u64 == wake_tag) {
        woken = true;
      } else if (event.data.u64 == listening_tag) {
        accept_all();
      } else {
        Connection& connection = connections_[event.data.u64];
        if (connection.state == State::free) continue;
        if ((event.events & EPOLLOUT) && connection.state == State::writing) send(connection);
        if (connection.state != State::free && (event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
          receive(connection);
      }
    }
    drop_late();
    if (woken) return true;
  }
  return false;
}

}  // namespace plimsoll::live
