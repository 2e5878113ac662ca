// A runtime that switches to a smaller plan and back while it runs: the same losses, and the memory that was
// planned.
#include <gtest/gtest.h>

#include <cmath>

#include "data/batches.hpp"
#include "platform/allocations.hpp"
#include "train/evaluate.hpp"
#include "train/runtime.hpp"
#include "train/smaller_steps.hpp"

namespace plimsoll {
namespace {

Settings model() {
  Settings s;
  s.layers = 2, s.heads = 4, s.dim = 64, s.ff = 256, s.context = 64, s.batch = 8, s.accumulate = 2,
  s.dropout = 0.1;
  s.lr = 1e-3, s.warmup = 10, s.threads = 1, s.micro_batch = 8;
  return s;
}

Settings larger() {
  Settings s = model();
  s.dim = 128, s.ff = 512, s.batch = s.micro_batch = 16, s.accumulate = 1;
  return s;
}

// Kernels count resident pages by the processor and add up later; and a huge page that is given back in part may be
// made whole again.
constexpr double tolerance = 3e6;

struct Rehearsal {
  explicit Rehearsal(const Settings& s, double factor = 0.5)
      : settings(s),
        corpus(s.seed),
        runtime(program_options(s, corpus.vocabulary()), s.threads, kernels::open_backend("native"), true,
                {smaller_steps(s, corpus.vocabulary(), stated_way(s, corpus.vocabulary()), factor, 9), {}}),
        batches(corpus, s.seed, s.batch * s.accumulate, s.context) {
    runtime.initialise(s.seed);
  }
  double step() {
    const int rows = runtime.micro_batch(runtime.gear());
    runtime.executor().run(runtime.program().train,
                           {.step = done, .learning_rate = 1e-3f, .seed = settings.seed},
                           [&](int micro, int lane) {
                             batches.fill(done, micro * rows,
                                          {runtime.executor().tokens(runtime.program().tokens, lane),
                                           size_t(rows) * size_t(settings.context + 1)});
                           });
    ++done;
    return *runtime.executor().data(runtime.program().loss);
  }
  Settings settings;
  GrammarCorpus corpus;
  Runtime runtime;
  Batches batches;
  uint64_t done = 0;
};

class ShiftInLanes : public testing::TestWithParam<int> {};

TEST_P(ShiftInLanes, EveryGearComputesTheSameStep) {
  Settings s = model();
  s.lanes = s.threads = GetParam();
  Rehearsal whole(s), shifting(s);
  ASSERT_GE(shifting.runtime.gears(), 3u);
  for (int i = 0; i < 30; ++i) {
    shifting.runtime.shift(size_t(i / 3) % shifting.runtime.gears());
    ASSERT_NEAR(whole.step(), shifting.step(), 1e-5) << "step " << i << " gear " << shifting.runtime.gear();
  }
  shifting.runtime.shift(shifting.runtime.gears() - 1);
  const Evaluation windows = Evaluation::subset(whole.corpus, 64, 20);
  EXPECT_NEAR(evaluate(whole.runtime, windows).loss, evaluate(shifting.runtime, windows).loss, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Lanes, ShiftInLanes, testing::Values(1, 2));

TEST(Shift, ThereAndBackLeavesNoTraceInTheBits) {
  Rehearsal whole(model()), shifted(model());
  for (int i = 0; i < 5; ++i) {
    shifted.runtime.shift(shifted.runtime.gears() - 1);
    shifted.runtime.shift(0);
    ASSERT_EQ(whole.step(), shifted.step());
  }
}

TEST(Shift, MemoryFallsAndRisesByWhatThePlansSay) {
  Rehearsal run(larger());
  ASSERT_GT(run.runtime.plan_bytes(0), run.runtime.plan_bytes(1) + (6u << 20));
  OwnMemory memory;
  run.step();
  for (size_t gear : {size_t(1), run.runtime.gears() - 1, size_t(0), run.runtime.gears() - 1, size_t(0)}) {
    const auto before = int64_t(memory.resident()), planned = int64_t(run.runtime.plan().total);
    run.runtime.shift(gear);
    const int64_t difference = int64_t(memory.resident()) - before;
    EXPECT_NEAR(double(difference), double(int64_t(run.runtime.plan_bytes(gear)) - planned), tolerance);
  }
}

TEST(Shift, ARestKeepsTheBitsAndGivesBackAllThatIsNotKept) {
  Rehearsal whole(larger()), resting(larger());
  OwnMemory memory;
  for (int i = 0; i < 3; ++i) {
    const auto before = double(memory.resident());
    resting.runtime.rest();
    const uint64_t promised = resting.runtime.given_back();
    EXPECT_GT(promised, 8e6);
    EXPECT_NEAR(before - double(memory.resident()), double(promised), tolerance);
    resting.runtime.wake();
    EXPECT_NEAR(double(memory.resident()), before, tolerance);
    EXPECT_EQ(resting.runtime.given_back(), 0u);
    ASSERT_EQ(whole.step(), resting.step());
  }
}

TEST(Shift, AnAbandonedStepChangesNothing) {
  Settings s = model();
  s.micro_batch = 2;
  Rehearsal whole(s), disturbed(s);
  for (int i = 0; i < 6; ++i) {
    Runtime& runtime = disturbed.runtime;
    const bool ended =
        runtime.executor().run(runtime.program().train, {.step = disturbed.done, .learning_rate = 1e-3f},
                               [&](int micro, int) { return micro < i; });
    ASSERT_FALSE(ended);
    ASSERT_EQ(whole.step(), disturbed.step());
  }
}

TEST_P(ShiftInLanes, AStepThatIsLeftBetweenNodesChangesNothing) {
  Settings s = larger();
  s.lanes = s.threads = GetParam();
  s.micro_batch = 8;
  Rehearsal whole(s), disturbed(s);
  Runtime& runtime = disturbed.runtime;
  struct Patience {
    int left, asked = 0;
  };
  for (int patience : {0, 1, 3}) {
    Patience questions{patience};
    const Interrupt interrupt{[](void* of) {
                                auto& q = *static_cast<Patience*>(of);
                                ++q.asked;
                                return q.left-- <= 0;
                              },
                              &questions};
    ASSERT_FALSE(runtime.executor().run(
        runtime.program().train, {.step = disturbed.done, .learning_rate = 1e-3f, .seed = s.seed},
        [&](int micro, int lane) {
          disturbed.batches.fill(disturbed.done, micro * 8,
                                 {runtime.executor().tokens(runtime.program().tokens, lane), size_t(8 * 65)});
        },
        interrupt))
        << "asked " << questions.asked << " times";
    ASSERT_EQ(whole.step(), disturbed.step());
  }
}

TEST(Shift, AnEvaluationGoesOnWhereItWasLeftInAnyGear) {
  Rehearsal run(larger());
  const Evaluation windows = Evaluation::subset(run.corpus, 64, 40);
  const double whole = evaluate(run.runtime, windows).loss;
  EvaluationPass pass(windows);
  int questions = 0, left = 0;
  const Interrupt every_fifth{[](void* of) { return ++*static_cast<int*>(of) % 5 == 0; }, &questions};
  while (!pass.advance(run.runtime, every_fifth)) run.runtime.shift(size_t(++left) % run.runtime.gears());
  EXPECT_GE(left, 2);
  EXPECT_NEAR(pass.result().loss, whole, 1e-6);
}

TEST(Shift, AllocatesNothing) {
  Rehearsal run(model());
  run.step();
  const uint64_t before = allocations();
  for (size_t i = 0; i < 6; ++i) {
    run.runtime.shift(i % run.runtime.gears());
    run.step();
  }
  EXPECT_EQ(allocations() - before, 0u);
}

TEST(Shift, GearsGetSmallerAndKeepTheBatch) {
  Rehearsal run(model());
  for (size_t g = 1; g < run.runtime.gears(); ++g) {
    EXPECT_LT(run.runtime.plan_bytes(g), run.runtime.plan_bytes(g - 1));
    EXPECT_LE(run.runtime.micro_batch(g), run.runtime.micro_batch(g - 1));
  }
  run.runtime.shift(2);
  for (size_t g = 1; g < run.runtime.gears(); ++g)
    EXPECT_LT(run.runtime.plan_bytes(g), run.runtime.plan_bytes(g - 1)) << "in gear 2";
  EXPECT_EQ(
      run.runtime.micro_batch(2) * run.runtime.graph().lists()[size_t(run.runtime.program().train)].repeats,
      16);
}

TEST(SmallerSteps, AreDivisorsOfTheBatchAndFollowTheFactor) {
  Settings s = model();
  s.batch = 12, s.micro_batch = 12;
  std::vector<int64_t> windows;
  for (const ProgramOptions& o : smaller_steps(s, 35, stated_way(s, 35), 0.5, 9)) {
    windows.push_back(o.batch);
    EXPECT_EQ(o.batch * o.accumulate, 24);
    EXPECT_EQ(o.evaluate_batch, o.batch);
  }
  EXPECT_EQ(windows, (std::vector<int64_t>{6, 3, 1, 1}));
  windows.clear();
  for (const ProgramOptions& o : smaller_steps(s, 35, stated_way(s, 35), 0.99, 9)) windows.push_back(o.batch);
  EXPECT_EQ(windows, (std::vector<int64_t>{6, 4, 3, 2, 1, 1}));
  windows.clear();
  for (const ProgramOptions& o : smaller_steps(s, 35, stated_way(s, 35), 0.99, 3)) windows.push_back(o.batch);
  EXPECT_EQ(windows, (std::vector<int64_t>{6, 3, 1}));
  EXPECT_EQ(smaller_steps(s, 35, stated_way(s, 35), 0.99, 3).back().recompute, Recompute::blocks);
  s.lanes = 2, s.accumulate = 4;
  std::vector<int> lanes;
  for (const ProgramOptions& o : smaller_steps(s, 35, stated_way(s, 35), 0.5, 9)) lanes.push_back(o.lanes);
  EXPECT_EQ(lanes, (std::vector<int>{2, 2, 2, 1, 1}));
}

}  // namespace
}  // namespace plimsoll
