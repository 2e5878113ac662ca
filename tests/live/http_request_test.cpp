#include "live/http_request.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace plimsoll::live {
namespace {

int status_of(const std::string& text) { return parse_request(text).status; }

TEST(HttpRequest, ReadsAnOrdinaryOne) {
  const std::string text =
      "GET /api/run?token=abc&x=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAUTHORIZATION:  Bearer xyz \r\n"
      "Accept: */*\r\nCookie: a=1; plimsoll-80=def\r\n\r\n";
  const ParsedRequest parsed = parse_request(text);
  ASSERT_EQ(parsed.status, 200);
  EXPECT_EQ(parsed.request.method, "GET");
  EXPECT_EQ(parsed.request.path, "/api/run");
  EXPECT_EQ(parsed.request.host, "127.0.0.1:80");
  EXPECT_EQ(parsed.request.authorization, "Bearer xyz");
  EXPECT_EQ(query_value(parsed.request.query, "token"), "abc");
  EXPECT_EQ(query_value(parsed.request.query, "tok"), "");
  EXPECT_EQ(cookie_value(parsed.request.cookie, "plimsoll-80"), "def");
}

TEST(HttpRequest, WaitsForTheRest) {
  EXPECT_EQ(status_of(""), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n"), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r"), 0);
}

TEST(HttpRequest, RefusesWhatIsNotExactlyRight) {
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);  // no Host
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("G@T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: a\n\n"), 400);
  EXPECT_EQ(status_of("\r\n\r\n"), 400);
  EXPECT_EQ(status_of(std::string("\x16\x03\x01", 3)), 400);  // TLS
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
}

TEST(HttpRequest, BoundsEverything) {
  const std::string host = " HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(longest_target - 1, 'a') + host + "\r\n"), 200);
  EXPECT_EQ(status_of("GET /" + std::string(longest_target, 'a') + host + "\r\n"), 414);
  EXPECT_EQ(status_of("GET /" + std::string(longest_request - 5, 'a')), 414);
  std::string many = "GET /" + host;
  for (int i = 0; i < 100; ++i) many += "A: b\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
  EXPECT_EQ(
      status_of(("GET /" + host + "A: " + std::string(longest_request, 'a')).substr(0, longest_request)),
      431);
}

// Bytes that arrive one by one mean the same as all at once: what is refused stays refused.
RC_GTEST_PROP(HttpRequest, DoesNotDependOnHowItArrives, ()) {
  const auto piece = rc::gen::element<std::string>("GET", " ", "/", "/metrics", "?a=b", " HTTP/1.1", "\r\n",
                                                   "\n", "Host: localhost", ":", "\x7f", "X: y", "\r\n\r\n");
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) text += part;
  const ParsedRequest whole = parse_request(text);
  for (size_t length = 0; length <= text.size(); ++length) {
    const int early = parse_request(std::string_view(text).substr(0, length)).status;
    if (early == 0) continue;
    RC_ASSERT((early == 200) == (whole.status == 200));
    break;
  }
}

}  // namespace
}  // namespace plimsoll::live
