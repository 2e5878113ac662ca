// Messages within a machine: ranks that are threads find each other as processes do, and read this process's memory.
#include "ranks/neighbours.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "threads.hpp"

namespace plimsoll::ranks {
namespace {

void wait(Neighbours& near, int ticket) {
  for (;;) {
    const uint32_t heard = near.heard();
    if (near.done(ticket)) return;
    near.sleep(heard, 1);
  }
}

TEST(Neighbours, MessagesOfEverySizeArriveInOrder) {
  ThreadRanks(3).run([](Communicator& own) {
    const auto near = Neighbours::begin(Team(&own));
    ASSERT_TRUE(near);
    EXPECT_EQ(near->count(), 3);
    EXPECT_FALSE(near->has(own.rank()));
    const int next = (own.rank() + 1) % 3, previous = (own.rank() + 2) % 3;
    // On both sides of what travels in a slot, and an empty one.
    for (size_t size : {size_t(0), size_t(1), size_t(13), size_t(14), size_t(15), size_t(100'000)}) {
      std::vector<int> sent(size), received(size, -1);
      std::iota(sent.begin(), sent.end(), 1000 * own.rank() + int(size));
      std::vector<int> expected(size);
      std::iota(expected.begin(), expected.end(), 1000 * previous + int(size));
      const int in = near->receive(previous, received.data(), size * sizeof(int));
      const int out = near->send(next, sent.data(), size * sizeof(int));
      wait(*near, in);
      wait(*near, out);
      EXPECT_EQ(received, expected);
    }
  });
}

TEST(Neighbours, MoreMessagesThanTheRingHolds) {
  ThreadRanks(2).run([](Communicator& own) {
    const auto near = Neighbours::begin(Team(&own));
    ASSERT_TRUE(near);
    constexpr int count = 1000, size = 30;
    std::vector<std::array<int, size>> sent(count), received(count);
    for (int round = 0; round < 3; ++round) {
      std::vector<int> tickets;
      for (int i = 0; i < count; ++i) {
        sent[size_t(i)].fill(10'000 * (1 + own.rank()) + i + round);
        // Every other one is small.
        tickets.push_back(near->send(1 - own.rank(), &sent[size_t(i)], i % 2 ? sizeof(int) : sizeof sent[0]));
      }
      for (int i = 0; i < count; ++i)
        tickets.push_back(
            near->receive(1 - own.rank(), &received[size_t(i)], i % 2 ? sizeof(int) : sizeof sent[0]));
      for (int ticket : tickets) wait(*near, ticket);
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(received[size_t(i)][0], 10'000 * (2 - own.rank()) + i + round);
        if (i % 2 == 0) {
          EXPECT_EQ(received[size_t(i)][size - 1], received[size_t(i)][0]);
        }
      }
      Team(&own).meet();
    }
  });
}

// What is on its way stays the sender's until it is taken: it must not be called done before.
TEST(Neighbours, ALargeMessageIsDoneWhenItIsTaken) {
  ThreadRanks(2).run([](Communicator& own) {
    const auto near = Neighbours::begin(Team(&own));
    ASSERT_TRUE(near);
    std::vector<int> data(1000, own.rank());
    if (own.rank() == 0) {
      const int ticket = near->send(1, data.data(), data.size() * sizeof(int));
      EXPECT_FALSE(near->done(ticket));
      Team(&own).meet();
      wait(*near, ticket);
    } else {
      Team(&own).meet();
      wait(*near, near->receive(0, data.data(), data.size() * sizeof(int)));
      EXPECT_EQ(data[999], 0);
    }
  });
}

TEST(Neighbours, OneWhoDoesNotWantThemHasNone) {
  ThreadRanks(3).run([](Communicator& own) {
    const auto near = Neighbours::begin(Team(&own), own.rank() != 1);
    EXPECT_EQ(near != nullptr, own.rank() != 1);
    if (near) {
      EXPECT_EQ(near->count(), 2);
      EXPECT_FALSE(near->has(1));
    }
  });
}

TEST(Neighbours, AMessageOfAnotherSizeIsAnError) {
  EXPECT_THROW(ThreadRanks(2).run([](Communicator& own) {
    const auto near = Neighbours::begin(Team(&own));
    int number = 7;
    if (own.rank() == 0) {
      near->send(1, &number, sizeof number);
      Team(&own).meet();
    } else {
      long other = 0;
      wait(*near, near->receive(0, &other, sizeof other));
    }
  }),
               Error);
}

}  // namespace
}  // namespace plimsoll::ranks
