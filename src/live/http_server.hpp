// A small single-threaded HTTP server for a few clients that no client can block: a fixed number of
// connections, one request each, each with a deadline. When all connections are in use, the one that has kept
// the server waiting longest is closed. Its memory does not depend on the requests.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "live/http_request.hpp"
#include "platform/sockets.hpp"

namespace plimsoll::live {

// Shared between all who are sent the same.
using Body = std::shared_ptr<const std::string>;

struct HttpResponse {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";  // a literal
  Body body;
  std::string header = {};  // further lines, each ending in \r\n
  bool stream = false;      // stays open and gets every later broadcast
};
HttpResponse plain(int status, std::string text);

struct HttpLimits {
  size_t connections = 64, streams = 16;
  double request_seconds = 5;  // from connecting to the end of the request
  double stall_seconds = 10;   // without a byte taken while we send
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Takes over `listening`, a nonblocking socket. The handler must not throw.
  HttpServer(int listening, Handler handler, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Answers until `seconds` have passed or `wake` becomes readable; true for the latter. -1: nothing wakes it.
  bool run(double seconds, int wake = -1);
  // To every stream. One that has not taken the last broadcast yet is dropped: its reader connects again.
  void broadcast(Body text);
  size_t connections() const;
  size_t streams() const;

 private:
  enum class State { free, reading, writing, streaming, draining };
  struct Connection {
    int descriptor = -1;
    State state = State::free;
    double since = 0, deadline = 0;
    size_t received = 0;
    char input[longest_request];
    size_t head_size = 0, sent = 0;  // sent: of head and body together
    char head[1024];
    Body body;
    bool stream = false;  // after the head and body
  };

  void accept_all();
  Connection* room();
  void receive(Connection& connection);
  void answer(Connection& connection, const HttpResponse& response, bool with_body);
  void send(Connection& connection);
  uint64_t tag(const Connection& connection) const;
  void drop(Connection& connection);
  void drop_late();
  static size_t unsent(const Connection& connection);

  int listening_, wake_ = -1;
  platform::Poller poller_;
  Handler handler_;
  HttpLimits limits_;
  std::vector<Connection> connections_;
};

}  // namespace plimsoll::live
