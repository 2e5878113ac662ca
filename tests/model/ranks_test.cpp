// A step on several ranks has the bits of a step on one, for every division of the leaves.
#include <gtest/gtest.h>

#include <cmath>

#include "../ranks/threads.hpp"
#include "session.hpp"

namespace plimsoll {
namespace {

using testing_support::Session;

// Large enough for shards that begin and end within a parameter.
ProgramOptions model_in_pieces() {
  ProgramOptions options;
  options.model.vocab = 700, options.model.context = 6, options.model.positions = 6;
  options.model.layers = 1, options.model.heads = 2, options.model.dim = 120, options.model.ff = 240;
  options.batch = 1, options.accumulate = 7, options.clip = .5f, options.dropout = .1f;
  options.adamw.weight_decay = .1f;
  options.generate = false;
  return options;
}

struct Result {
  std::vector<float> losses, norms;
  std::vector<std::vector<float>> parameters;
  bool operator==(const Result&) const = default;
};

Result after_steps(const ProgramOptions& options) {
  Session session(options);
  Result result;
  for (uint64_t i = 0; i < 3; ++i) {
    result.losses.push_back(session.step(i));
    result.norms.push_back(session.executor->data(session.program.clip)[1]);
  }
  for (const Parameter& p : session.program.trained) result.parameters.push_back(session.values(p.id));
  return result;
}

void compare(ProgramOptions options, int leaves, int lanes, std::initializer_list<int> sizes) {
  options.lanes = 1;
  options.leaves = LeafRange{0, leaves, leaves};
  const Result one = after_steps(options);
  for (int ranks : sizes) {
    ranks::ThreadRanks(ranks).run([&](ranks::Communicator& own) {
      ProgramOptions mine = options;
      mine.rank = own.rank(), mine.ranks = ranks, mine.team = ranks::Team(&own);
      mine.leaves = leaves_of(mine.rank, ranks, leaves);
      mine.lanes = std::min(lanes, mine.leaves->count);
      EXPECT_EQ(after_steps(mine), one) << "rank " << mine.rank << " of " << ranks << ", " << leaves;
    });
  }
}

TEST(Ranks, AnyNumberHasTheBitsOfOne) {
  for (int leaves : {4, 5, 7}) compare(model_in_pieces(), leaves, 1, {2, 3, 4});
}

// As on one machine.
TEST(Ranks, ExchangingAfterTheBackwardPassMakesNoDifference) {
  ProgramOptions options = model_in_pieces();
  options.exchange_beside = false;
  for (int leaves : {4, 5}) compare(options, leaves, 1, {2, 3});
}

TEST(Ranks, LanesMakeNoDifference) { compare(model_in_pieces(), 6, 2, {2, 3}); }

TEST(Ranks, MomentsInEightBitsToo) {
  ProgramOptions options = model_in_pieces();
  options.adamw.eight_bit = true;
  compare(options, 3, 1, {2, 3});
}

TEST(Ranks, ALossThatIsNoNumberIsEverybodys) {
  ProgramOptions options = model_in_pieces();
  options.lanes = 1;
  ranks::ThreadRanks(3).run([&](ranks::Communicator& own) {
    ProgramOptions mine = options;
    mine.rank = own.rank(), mine.ranks = 3, mine.team = ranks::Team(&own);
    mine.leaves = leaves_of(mine.rank, 3, 5);
    Session session(mine);
    EXPECT_TRUE(std::isfinite(session.step(0)));
    if (own.rank() == 1) session.executor->data(session.program.trained.back().id)[0] = NAN;
    EXPECT_TRUE(std::isnan(session.step(1))) << own.rank();
  });
}

// One rank wants to leave just before its gradients begin their way: all do, and the step can be done again.
void leave_a_step(bool exchange_beside) {
  ProgramOptions options = model_in_pieces();
  options.lanes = 1, options.leaves = LeafRange{0, 4, 4}, options.exchange_beside = exchange_beside;
  const Result whole = after_steps(options);
  ranks::ThreadRanks(2).run([&](ranks::Communicator& own) {
    ProgramOptions mine = options;
    mine.rank = own.rank(), mine.ranks = 2, mine.team = ranks::Team(&own);
    mine.leaves = leaves_of(mine.rank, 2, 4);
    Session session(mine);
    struct Asked {
      ranks::Team team;
      bool wants;
      int times = 0;
    } asked{mine.team, own.rank() == 1};
    const Interrupt leave{[](void* of) {
                            auto& a = *static_cast<Asked*>(of);
                            ++a.times;
                            return a.team.any(a.wants);
                          },
                          &asked};
    EXPECT_FALSE(session.run(0, 1e-3f, leave));
    EXPECT_EQ(asked.times, 1);
    for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(session.step(i), whole.losses[i]);
  });
}

TEST(Ranks, AStepIsLeftByAllOrByNone) {
  leave_a_step(true);
  leave_a_step(false);
}

TEST(Ranks, EveryRankHoldsItsShareOfTheMoments) {
  ProgramOptions options = model_in_pieces();
  options.leaves = LeafRange{0, 4, 4};
  const auto moments = [&](int rank, int ranks) {
    ProgramOptions mine = options;
    mine.rank = rank, mine.ranks = ranks, mine.leaves = leaves_of(rank, ranks, 4);
    const Program program = record(mine);
    const Plan plan = make_plan(*program.graph, 1);
    EXPECT_EQ(find_overlap(*program.graph, plan), "");
    return plan.by_role[size_t(Role::optimizer)];
  };
  const uint64_t all = moments(0, 1), first = moments(0, 2), second = moments(1, 2);
  EXPECT_EQ(first + second, all);
  EXPECT_LT(std::max(first, second), all * 7 / 10);
}

}  // namespace
}  // namespace plimsoll
