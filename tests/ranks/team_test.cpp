// What ranks agree on, and who owns what.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "ranks/courier.hpp"
#include "ranks/shards.hpp"
#include "threads.hpp"

namespace plimsoll::ranks {
namespace {

TEST(Team, AgreesOnTheLargestAndTheSmallest) {
  for (int size : {1, 2, 3, 5, 8})
    ThreadRanks(size).run([size](Communicator& own) {
      const Team team(&own);
      const auto rank = uint64_t(team.rank());
      EXPECT_EQ(team.max(rank), uint64_t(size - 1));
      EXPECT_EQ(team.min(10 + rank), 10u);
      EXPECT_TRUE(team.any(rank + 1 == uint64_t(size)));
      EXPECT_FALSE(team.any(false));
      EXPECT_EQ(team.all(rank > 0), false);
      EXPECT_TRUE(team.all(true));
    });
}

TEST(Team, SharesAndCollects) {
  ThreadRanks(5).run([](Communicator& own) {
    const Team team(&own);
    std::array<int, 3> numbers{team.rank(), 2 * team.rank(), 7};
    std::array<int, 15> all{};
    team.collect(numbers.data(), sizeof numbers, all.data());
    if (team.first()) {
      EXPECT_EQ(all[12], 4);
      EXPECT_EQ(all[13], 8);
    }
    numbers[2] = team.first() ? 9 : 0;
    team.share(numbers.data(), sizeof numbers);
    EXPECT_EQ(numbers, (std::array<int, 3>{0, 0, 9}));
  });
}

TEST(Team, ALostRankEndsTheOthers) {
  EXPECT_THROW(ThreadRanks(3).run([](Communicator& own) {
    if (own.rank() == 1) throw std::runtime_error("dies");
    Team(&own).meet();
  }),
               RankLost);
}

TEST(Shards, CoverEverythingOnceInEqualShares) {
  const std::vector<int64_t> elements = {300, 5 * shard_block + 17, 1, 200'000, 64, 3 * shard_block};
  const int64_t all = std::accumulate(elements.begin(), elements.end(), int64_t{0});
  for (int ranks : {1, 2, 3, 4, 7, 64}) {
    const std::vector<Shard> shards = make_shards(elements, ranks);
    ASSERT_EQ(shards.size(), size_t(ranks));
    std::vector<int64_t> at(elements.size());
    for (const Shard& shard : shards) {
      size_t before = 0;
      for (const Piece& piece : shard) {
        EXPECT_TRUE(&piece == &shard.front() || piece.parameter > before);
        before = piece.parameter;
        EXPECT_EQ(piece.begin, at[piece.parameter]);
        EXPECT_EQ(piece.begin % shard_block, 0);
        EXPECT_GT(piece.end, piece.begin);
        at[piece.parameter] = piece.end;
      }
      EXPECT_LE(elements_of(shard), all / ranks + 2 * shard_block) << ranks;
    }
    EXPECT_EQ(at, elements);
  }
}

TEST(Shards, EveryRankHasAPartOfALargeParameter) {
  const std::vector<int64_t> elements = {4 * shard_block, 4 * shard_block};
  for (const Shard& shard : make_shards(elements, 4)) EXPECT_EQ(shard.size(), 2u);
}

TEST(Courier, FollowsTheMarksAndHandsOnWhatIsThrown) {
  struct Seen {
    Courier courier;
    std::atomic<int> stage{0};
  } seen;
  const auto job = [](void* of) {
    auto& s = *static_cast<Seen*>(of);
    s.stage = 1;
    while (!s.courier.reached(3)) {
    }
    s.stage = 2;
    while (!s.courier.hurried()) s.courier.rest();
    s.stage = 3;
  };
  for (int round = 0; round < 3; ++round) {
    seen.stage = 0;
    seen.courier.begin(job, &seen);
    EXPECT_TRUE(seen.courier.working());
    seen.courier.reach(2);
    EXPECT_LT(seen.stage, 2);
    seen.courier.reach(3);
    seen.courier.finish();
    EXPECT_FALSE(seen.courier.working());
    EXPECT_EQ(seen.stage, 3);
  }
  seen.courier.begin([](void*) { throw RankLost("rank 1 is lost"); }, nullptr);
  EXPECT_THROW(seen.courier.finish(), RankLost);
}

TEST(Courier, CanBeGivenUpAtAnyMark) {
  Courier courier;
  courier.begin(
      [](void* of) {
        while (!static_cast<Courier*>(of)->reached(9)) {
        }
        static_cast<Courier*>(of)->rest();
      },
      &courier);
  courier.reach(1);
}

}  // namespace
}  // namespace plimsoll::ranks
