#include "live/http_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "platform/clock.hpp"

namespace plimsoll::live {
namespace {

constexpr double drain_seconds =
    1;  // after an answer, for the client to read it before the connection is gone
using platform::Transfer;
using For = platform::Poller::For;
constexpr size_t listening_tag = SIZE_MAX, wake_tag = SIZE_MAX - 1;

double now() { return platform::monotonic_seconds(); }

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
    : listening_(listening), handler_(std::move(handler)), limits_(limits), connections_(limits.connections) {
  poller_.add(listening_, listening_tag, For::reading);
}

HttpServer::~HttpServer() {
  for (Connection& connection : connections_) drop(connection);
  platform::close_socket(listening_);
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

uint64_t HttpServer::tag(const Connection& connection) const {
  return uint64_t(&connection - connections_.data());
}

void HttpServer::drop(Connection& connection) {
  if (connection.state == State::free) return;
  platform::close_socket(connection.descriptor);  // leaves the poller with it
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
    const platform::Accepted accepted = platform::accept_connection(listening_);
    if (accepted.out_of_descriptors) room();  // makes one free for the next turn
    if (accepted.descriptor < 0) return;
    Connection* connection = room();
    if (!connection) {
      platform::close_socket(accepted.descriptor);
      continue;
    }
    connection->descriptor = accepted.descriptor;
    connection->state = State::reading;
    connection->since = now();
    connection->deadline = connection->since + limits_.request_seconds;
    connection->received = 0;
    poller_.add(connection->descriptor, tag(*connection), For::reading);
    receive(*connection);  // most requests are there already
  }
}

void HttpServer::receive(Connection& connection) {
  size_t moved = 0;
  if (connection.state != State::reading) {
    // Nothing more is expected: what comes is thrown away, the end of it ends the connection.
    char ignored[4096];
    if (platform::receive(connection.descriptor, ignored, sizeof ignored, moved) == Transfer::over)
      drop(connection);
    return;
  }
  const Transfer got = platform::receive(connection.descriptor, connection.input + connection.received,
                                         sizeof connection.input - connection.received, moved);
  if (got == Transfer::later) return;
  if (got == Transfer::over) return drop(connection);
  connection.received += moved;
  const ParsedRequest parsed = parse_request({connection.input, connection.received});
  if (parsed.status == 0) return;
  if (parsed.status != 200)
    return answer(connection, plain(parsed.status, "refused: unsupported request\n"), true);
  const HttpRequest& request = parsed.request;
  HttpResponse response = handler_(request);
  if (response.stream && streams() >= limits_.streams)
    response = plain(503, "too many live pages are open; close one\n");
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
  poller_.change(connection.descriptor, tag(connection), For::writing);
  send(connection);
}

void HttpServer::send(Connection& connection) {
  while (unsent(connection)) {
    const bool head = connection.sent < connection.head_size;
    const std::string_view rest =
        head ? std::string_view(connection.head, connection.head_size).substr(connection.sent)
             : std::string_view(*connection.body).substr(connection.sent - connection.head_size);
    const bool more = head && connection.body;
    size_t moved = 0;
    const Transfer taken = platform::send(connection.descriptor, rest, more, moved);
    if (taken == Transfer::later) return;
    if (taken == Transfer::over) return drop(connection);
    connection.sent += moved;
    connection.deadline = now() + limits_.stall_seconds;
  }
  connection.body.reset();
  connection.head_size = connection.sent = 0;
  if (connection.stream) {
    connection.state = State::streaming;
  } else {
    // Closing at once would let unread input tear the answer away from the client.
    platform::finish_sending(connection.descriptor);
    connection.state = State::draining;
    connection.deadline = now() + drain_seconds;
  }
  poller_.change(connection.descriptor, tag(connection), For::reading);
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
    poller_.change(connection.descriptor, tag(connection), For::writing);
    send(connection);
  }
}

void HttpServer::drop_late() {
  const double time = now();
  for (Connection& connection : connections_) {
    if (connection.state == State::free || connection.state == State::streaming || time < connection.deadline)
      continue;
    if (connection.state == State::reading && connection.received)
      answer(connection, plain(408, "the request timed out\n"), true);
    else
      drop(connection);
  }
}

bool HttpServer::run(double seconds, int wake) {
  if (wake != wake_) {
    if (wake_ >= 0) poller_.remove(wake_);
    if (wake >= 0) poller_.add(wake, wake_tag, For::reading);
    wake_ = wake;
  }
  const double until = now() + seconds;
  for (double left = seconds; left > 0; left = until - now()) {
    // A deadline is looked at four times a second while there is anybody to have one.
    const double longest = connections() > streams() ? std::min(left, 0.25) : left;
    bool woken = false;
    for (const platform::Poller::Ready& ready : poller_.wait(longest)) {
      if (ready.tag == wake_tag) {
        woken = true;
      } else if (ready.tag == listening_tag) {
        accept_all();
      } else {
        Connection& connection = connections_[ready.tag];
        if (connection.state == State::free) continue;
        if (ready.writable && connection.state == State::writing) send(connection);
        if (connection.state != State::free && ready.readable) receive(connection);
      }
    }
    drop_late();
    if (woken) return true;
  }
  return false;
}

}  // namespace plimsoll::live
