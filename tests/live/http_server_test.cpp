#include "live/http_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live/access.hpp"

namespace plimsoll::live {
namespace {

// A client that never blocks longer than it must: the server runs in the same thread.
class Client {
 public:
  explicit Client(uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  bool connected() const { return connected_; }
  void send(const std::string& text) const { ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL); }
  void finish() const { shutdown(descriptor_, SHUT_WR); }
  // What has arrived; "closed" at the end of it where the server has ended the connection.
  std::string receive() const {
    std::string text;
    char buffer[65536];
    for (;;) {
      const ssize_t got = recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return text + "closed";
      if (got < 0) return text;
      text.append(buffer, size_t(got));
    }
  }

 private:
  int descriptor_;
  bool connected_ = false;
};

struct Fixture {
  explicit Fixture(HttpLimits limits = {})
      : listening(listen_on({.address = "127.0.0.1"})),
        server(
            listening.descriptor,
            [this](const HttpRequest& request) {
              ++handled;
              if (request.path == "/stream")
                return HttpResponse{.body = std::make_shared<const std::string>("first\n"), .stream = true};
              if (request.path == "/large") return plain(200, std::string(3'000'000, 'x'));
              return plain(200, "hello\n");
            },
            limits) {}
  uint16_t port() const { return listening.endpoint.port; }
  int handled = 0;
  Listening listening;
  HttpServer server;
};

const std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(HttpServer, AnswersAndCloses) {
  Fixture fixture;
  Client client(fixture.port());
  client.send(get);
  fixture.server.run(0.05);
  const std::string answer = client.receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello\nclosed")) << answer;
  for (const char* header : {"Content-Security-Policy: default-src 'none'", "X-Content-Type-Options: nosniff",
                             "Content-Length: 6\r\n", "Connection: close"})
    EXPECT_NE(answer.find(header), answer.npos) << header;
  EXPECT_EQ(answer.find("unsafe"), answer.npos);
}

TEST(HttpServer, AHeadHasNoBodyAndHalfClosedClientsGetTheirs) {
  Fixture fixture;
  Client head(fixture.port()), half(fixture.port());
  head.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  half.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  half.finish();
  std::string large;
  for (int i = 0; i < 100 && large.find("closed") == large.npos; ++i) {
    fixture.server.run(0.01);
    large += half.receive();
  }
  EXPECT_TRUE(head.receive().ends_with("\r\n\r\nclosed"));
  EXPECT_GT(large.size(), 3'000'000u);
}

TEST(HttpServer, RefusesWithoutAskingTheHandler) {
  Fixture fixture;
  Client wrong(fixture.port()), endless(fixture.port());
  wrong.send("nonsense\r\n\r\n");
  endless.send(std::string(100'000, 'a'));
  fixture.server.run(0.05);
  EXPECT_TRUE(wrong.receive().starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(endless.receive().starts_with("HTTP/1.1 414"));
  EXPECT_EQ(fixture.handled, 0);
}

TEST(HttpServer, StalledConnectionsMakeRoomAndTheirTimeEnds) {
  Fixture fixture({.connections = 8, .streams = 2, .request_seconds = 0.3, .stall_seconds = 1});
  std::vector<std::unique_ptr<Client>> stalled;
  for (int i = 0; i < 40; ++i) {
    stalled.push_back(std::make_unique<Client>(fixture.port()));
    stalled.back()->send("GET / HT");
    fixture.server.run(0.002);
    EXPECT_LE(fixture.server.connections(), 8u);
  }
  Client good(fixture.port());
  good.send(get);
  fixture.server.run(0.05);
  EXPECT_TRUE(good.receive().starts_with("HTTP/1.1 200"));
  EXPECT_EQ(stalled.front()->receive(), "closed");  // dropped for a newer one
  fixture.server.run(0.8);
  EXPECT_TRUE(stalled.back()->receive().starts_with("HTTP/1.1 408"));
  fixture.server.run(1.2);
  EXPECT_EQ(fixture.server.connections(), 0u);
}

TEST(HttpServer, AReaderThatTakesNothingIsDropped) {
  Fixture fixture({.connections = 8, .streams = 2, .request_seconds = 1, .stall_seconds = 0.3});
  Client client(fixture.port());
  client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  fixture.server.run(0.05);
  EXPECT_EQ(fixture.server.connections(), 1u);
  fixture.server.run(1);
  EXPECT_EQ(fixture.server.connections(), 0u);
}

TEST(HttpServer, StreamsGetBroadcastsAndSlowOnesAreDropped) {
  Fixture fixture({.connections = 8, .streams = 2, .request_seconds = 1, .stall_seconds = 5});
  const std::string stream = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Client reader(fixture.port()), slow(fixture.port()), third(fixture.port());
  reader.send(stream);
  fixture.server.run(0.02);
  slow.send(stream);
  fixture.server.run(0.02);
  third.send(stream);
  fixture.server.run(0.02);
  EXPECT_TRUE(third.receive().starts_with("HTTP/1.1 503"));
  EXPECT_TRUE(reader.receive().ends_with("first\n"));
  fixture.server.broadcast(std::make_shared<const std::string>("second\n"));
  EXPECT_EQ(reader.receive(), "second\n");
  const auto large = std::make_shared<const std::string>(std::string(1'000'000, 'y'));
  for (int i = 0; i < 30 && fixture.server.streams() == 2; ++i) {
    fixture.server.broadcast(large);
    for (int turn = 0; turn < 20; ++turn) fixture.server.run(0.001), reader.receive();
  }
  EXPECT_EQ(fixture.server.streams(), 1u);
  EXPECT_LE(large.use_count(), 2);
}

TEST(HttpServer, WakesUp) {
  Fixture fixture;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(fixture.server.run(0.01, ends[0]));
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(fixture.server.run(60, ends[0]));
  close(ends[0]), close(ends[1]);
}

}  // namespace
}  // namespace plimsoll::live
