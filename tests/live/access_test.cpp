#include "live/access.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plimsoll::live {
namespace {

constexpr const char* token = "0123456789abcdef";

Endpoint endpoint(const std::string& text, const std::string& secret = "") {
  return parse_endpoint({.wanted = true, .address = text, .token = secret});
}

TEST(Access, ReadsAddresses) {
  EXPECT_EQ(endpoint("").address, "127.0.0.1");
  EXPECT_EQ(endpoint("").port, 0);
  EXPECT_EQ(endpoint("8080").port, 8080);
  EXPECT_EQ(endpoint("localhost:81").address, "127.0.0.1");
  EXPECT_EQ(endpoint("127.0.0.5").address, "127.0.0.5");
  EXPECT_EQ(endpoint("[::1]:9").address, "::1");
  EXPECT_EQ(endpoint("[::1]:9").port, 9);
  EXPECT_EQ(endpoint("::1").port, 0);
  for (const char* wrong : {"example.org:80", "1.2.3:80", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x",
                            "[::1", "[::1]9", "[127.0.0.1]:80"})
    EXPECT_THROW(endpoint(wrong, token), InputError) << wrong;
}

TEST(Access, OtherAddressesNeedAToken) {
  for (const char* open : {"0.0.0.0:80", "192.168.1.5", "[::]:80"}) {
    EXPECT_THROW(endpoint(open), InputError) << open;
    EXPECT_FALSE(endpoint(open, token).loopback) << open;
  }
  EXPECT_TRUE(endpoint("127.3.2.1:80").loopback);
  EXPECT_THROW(endpoint("", "short"), InputError);
  EXPECT_THROW(endpoint("", "has a blank in the middle"), InputError);
}

TEST(Access, KnowsItsOwnNames) {
  const Endpoint loopback = endpoint(""), open = endpoint("0.0.0.0:80", token);
  for (const char* ours : {"127.0.0.1", "127.0.0.1:4321", "localhost:1", "LOCALHOST", "[::1]:80"}) {
    EXPECT_TRUE(host_is_ours(ours, loopback, "box")) << ours;
    EXPECT_TRUE(host_is_ours(ours, open, "box")) << ours;
  }
  for (const char* foreign :
       {"", "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[::1",
        "[::1]evil.example:80", "[::1]:evil.example:80", "localhost:evil.example", ":80",
        "127.0.0.1@evil.example"}) {
    EXPECT_FALSE(host_is_ours(foreign, loopback, "box")) << foreign;
    EXPECT_FALSE(host_is_ours(foreign, open, "box")) << foreign;
  }
  EXPECT_FALSE(host_is_ours("192.168.1.5:80", loopback, "box"));
  EXPECT_FALSE(host_is_ours("box", loopback, "box"));
  EXPECT_TRUE(host_is_ours("192.168.1.5:80", open, "box"));
  EXPECT_TRUE(host_is_ours("Box:80", open, "box"));
}

TEST(Access, ComparesTokens) {
  EXPECT_TRUE(same_token("abc", "abc"));
  for (const char* wrong : {"", "ab", "abcd", "abd", "abcabc"})
    EXPECT_FALSE(same_token(wrong, "abc")) << wrong;
}

TEST(Access, AnAddressInUseIsRefused) {
  const Listening first = listen_on(endpoint(""));
  EXPECT_GT(first.endpoint.port, 0);
  EXPECT_EQ(first.url, "http://127.0.0.1:" + std::to_string(first.endpoint.port) + "/");
  EXPECT_THROW(listen_on(endpoint(std::to_string(first.endpoint.port))), InputError);
}

}  // namespace
}  // namespace plimsoll::live
