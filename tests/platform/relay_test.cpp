#include "platform/relay.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace plimsoll::platform {

// Any bytes in any pieces come out the same and in order, also where the reader is slower than the writer.
RC_GTEST_PROP(Relay, EveryByteInOrder, (const std::vector<std::string>& pieces)) {
  int in[2], out[2];
  RC_ASSERT(pipe(in) == 0 && pipe(out) == 0);
  std::string sent, seen, got;
  for (const auto& piece : pieces) sent += piece;
  std::string large = sent;
  while (large.size() < 300'000 && !sent.empty() && sent.size() % 7 == 0) large += sent;
  std::thread writer([&] {
    for (size_t at = 0; at < large.size();) {
      ssize_t put = write(in[1], large.data() + at, std::min<size_t>(large.size() - at, 30'000));
      if (put > 0) at += size_t(put);
    }
    close(in[1]);
  });
  std::thread reader([&] {
    char block[999];
    for (ssize_t n; (n = read(out[0], block, sizeof block)) > 0;) got.append(block, size_t(n));
  });
  Relay relay(in[0], out[1], [&](std::string_view bytes) { seen += bytes; });
  while (relay.open()) {
    Awaited want[] = {relay.wants()};
    wait_for(want, 1);
    relay.advance(want[0].ready);
  }
  close(out[1]);
  writer.join(), reader.join();
  close(in[0]), close(out[0]);
  RC_ASSERT(got == large);
  RC_ASSERT(seen == large);
  if (!large.empty()) RC_ASSERT(relay.ends_with_newline() == (large.back() == '\n'));
}

TEST(Relay, AReaderThatWentAwayIsNoticed) {
  signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  ASSERT_TRUE(pipe(in) == 0 && pipe(out) == 0);
  close(out[0]);
  ASSERT_EQ(write(in[1], "x", 1), 1);
  Relay relay(in[0], out[1], [](std::string_view) {});
  for (int i = 0; i < 3 && relay.open(); ++i) {
    Awaited want[] = {relay.wants()};
    wait_for(want, 1);
    relay.advance(want[0].ready);
  }
  EXPECT_TRUE(relay.broken());
  EXPECT_FALSE(relay.open());
  close(in[0]), close(in[1]), close(out[1]);
}

}  // namespace plimsoll::platform
