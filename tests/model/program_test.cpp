// The whole step: its bits do not depend on threads, and its mathematics does not depend on how the step is
// split.
#include "model/program.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "model/session.hpp"

namespace plimsoll {
namespace {
using testing_support::Session;

ProgramOptions odd_model() {
  ProgramOptions o;
  o.model = {.layers = 2,
             .heads = 4,
             .dim = 40,
             .ff = 160,
             .context = 33,
             .vocab = 65,
             .tied = true,
             .head_bias = false};
  o.batch = 4;
  o.clip = 1;
  o.adamw = {.9f, .99f, 1e-8f, .1f};
  o.evaluate_batch = 3;
  return o;
}

double worst(const std::vector<float>& a, const std::vector<float>& b) {
  double top = 1e-30, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    top = std::max(top, std::abs(double(b[i])));
    difference = std::max(difference, std::abs(double(a[i]) - b[i]));
  }
  return difference / top;
}

TEST(Program, LearnsAFixedBatch) {
  Session s(odd_model());
  const float before = s.step(0);
  EXPECT_NEAR(before, std::log(65.f), 0.1);
  float after = 0;
  for (int i = 0; i < 150; ++i) after = s.step(0);
  EXPECT_LT(after, 0.5f * before);
}

// Moments in 8 bits: as good a descent, in a quarter of the optimizer's bytes, and the same bits with any number of threads.
TEST(Program, MomentsInEightBitsLearnAsMuch) {
  ProgramOptions options = odd_model(), narrow = odd_model();
  narrow.adamw.eight_bit = true;
  auto learn = [](Session& s) {
    const Type type = (*s.program.graph)[s.program.tokens].type;
    for (uint64_t step = 0; step < 200; ++step)
      s.executor->run(s.program.train, Moment{.step = step, .learning_rate = 1e-3f, .seed = 3},
                      [&](int, int) {
                        // Four batches in turn, to be learned by heart.
                        const CounterRng rng(step % 4, Stream::windows);
                        for (int64_t i = 0; i < type.elements(); ++i)
                          s.executor->tokens(s.program.tokens)[i] = int32_t(rng.below(uint64_t(i), 65));
                      });
    return *s.executor->data(s.program.loss);
  };
  Session wide(options), one(narrow, 1), three(narrow, 3);
  const float expected = learn(wide), found = learn(one);
  EXPECT_LT(expected, 3.3f);
  EXPECT_NEAR(found, expected, 0.02f * expected);
  EXPECT_EQ(found, learn(three));
  for (const Parameter& p : one.program.model->parameters()) EXPECT_EQ(one.values(p.id), three.values(p.id));
  const auto bytes = [](const Session& s) { return s.plan.by_role[size_t(Role::optimizer)]; };
  EXPECT_LT(double(bytes(one)), 0.3 * double(bytes(wide)));
}

TEST(Program, BitsDoNotDependOnTheNumberOfThreads) {
  Session one(odd_model(), 1), three(odd_model(), 3);
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(one.step(i), three.step(i));
  for (const Parameter& p : one.program.model->parameters()) EXPECT_EQ(one.values(p.id), three.values(p.id));
}

TEST(Program, EveryInstructionSetAgreesWithTheReference) {
  Session plain(odd_model(), 1, &kernels::reference_table);
  std::vector<float> losses;
  for (uint64_t i = 0; i < 3; ++i) losses.push_back(plain.step(i));
  for (const kernels::Table* table : kernels::available()) {
    Session fast(odd_model(), 2, table);
    for (uint64_t i = 0; i < 3; ++i) EXPECT_NEAR(fast.step(i), losses[i], 1e-5) << table->name;
  }
}

TEST(Program, MicroBatchesAddUpToTheWholeBatch) {
  ProgramOptions cut = odd_model();
  cut.batch = 1;
  cut.accumulate = 4;
  for (float dropout :
       {0.f, .2f}) {  // masks depend on the row within the step, so dropout does not change either
    ProgramOptions all = odd_model();
    all.dropout = cut.dropout = dropout;
    Session whole(all), parts(cut);
    for (uint64_t i = 0; i < 5; ++i) EXPECT_NEAR(whole.step(i), parts.step(i), 1e-5);
    for (size_t i = 0; i < whole.program.gradients.size(); ++i)
      EXPECT_LT(worst(parts.values(parts.program.model->parameters()[i].id),
                      whole.values(whole.program.model->parameters()[i].id)),
                2e-3);
  }
}

// Bits follow from the leaves, however many of them run side by side and on however many threads.
TEST(Program, LanesDoNotChangeTheBitsOfLeaves) {
  ProgramOptions options = odd_model();
  options.batch = 1, options.accumulate = 7, options.clip = 1, options.dropout = .2f;
  options.leaves = LeafRange{0, 5, 5};
  Session first(options);
  EXPECT_EQ(find_overlap(*first.program.graph, first.plan), "");
  std::vector<float> losses;
  for (uint64_t i = 0; i < 4; ++i) losses.push_back(first.step(i));
  for (int lanes : {1, 2, 3, 5})
    for (int threads : {1, 3}) {
      options.lanes = lanes;
      Session other(options, threads);
      EXPECT_EQ(find_overlap(*other.program.graph, other.plan), "") << lanes;
      for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(other.step(i), losses[i]) << lanes << " " << threads;
      for (size_t i = 0; i < first.program.trained.size(); ++i)
        EXPECT_EQ(other.values(other.program.trained[i].id), first.values(first.program.trained[i].id));
      EXPECT_LE(first.plan.total, other.plan.total) << "lanes share nothing inside the loop";
    }
}

// Lanes may divide the micro-batches evenly or not, and there may be fewer threads than lanes: bits follow from the lanes.
TEST(Program, LanesAddUpToTheWholeBatch) {
  for (int lanes : {2, 3, 4}) {
    ProgramOptions cut = odd_model();
    cut.batch = 1;
    cut.accumulate = 4;
    cut.clip = 1;
    cut.dropout = .2f;
    ProgramOptions all = cut;
    all.batch = 4;
    all.accumulate = 1;
    cut.lanes = lanes;
    Session whole(all), one(cut, 1), three(cut, 3);
    EXPECT_EQ(find_overlap(*one.program.graph, one.plan), "");
    for (uint64_t i = 0; i < 5; ++i) {
      const float loss = one.step(i);
      EXPECT_NEAR(whole.step(i), loss, 1e-5) << lanes;
      EXPECT_EQ(loss, three.step(i)) << lanes;
    }
    for (size_t i = 0; i < whole.program.gradients.size(); ++i) {
      const ValueId id = one.program.model->parameters()[i].id;
      EXPECT_LT(worst(one.values(id), whole.values(whole.program.model->parameters()[i].id)), 2e-3);
      EXPECT_EQ(one.values(id), three.values(id));
    }
  }
}

// Tied or not, with whole and with 8-bit moments, with logits in one piece and in several: the same bits.
TEST(Program, UpdatingEarlyChangesNoBit) {
  for (bool tied : {true, false})
    for (bool eight_bit : {false, true})
      for (int64_t rows : {0, 17})
        for (Recompute choice : {Recompute::nothing, Recompute::cheap}) {
          ProgramOptions options = odd_model();
          options.model.tied = tied;
          options.adamw.eight_bit = eight_bit;
          options.clip = 0;
          options.loss_rows = rows;
          options.recompute = choice;
          options.dropout = .1f;
          ProgramOptions sooner = options;
          sooner.early_updates = true;
          sooner.joined_from = choice == Recompute::nothing ? 0 : 8192;
          Session late(options), early(sooner, 3);
          EXPECT_EQ(find_overlap(*early.program.graph, early.plan), "");
          for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(late.step(i), early.step(i)) << tied << rows;
          for (size_t i = 0; i < late.program.trained.size(); ++i)
            for (const auto& [a, b] :
                 {std::pair{late.program.trained[i].id, early.program.trained[i].id},
                  std::pair{late.program.first_moment[i], early.program.first_moment[i]}})
              EXPECT_EQ(std::memcmp(late.executor->bytes(a), early.executor->bytes(b),
                                    (*late.program.graph)[a].type.bytes()),
                        0)
                  << (*late.program.graph)[a].name;
        }
}

// Where gradients outweigh activations, most of them need no memory.
TEST(Program, UpdatingEarlyTakesLessMemory) {
  ProgramOptions options = odd_model();
  options.clip = 0;
  options.batch = 1;
  options.model.context = 8;
  options.evaluate_batch = 0;
  const Session late(options);
  options.early_updates = true;
  const Session early(options);
  EXPECT_LT(early.plan.transient, late.plan.transient / 2);
}

// A step that is left before the first update leaves no trace; from then on nobody is asked.
TEST(Program, AnEarlyUpdateIsNeverHalfDone) {
  ProgramOptions options = odd_model();
  options.clip = 0;
  options.early_updates = true;
  options.joined_from = 0;
  Session s(options);
  const List& list = s.program.graph->lists()[size_t(s.program.train)];
  auto updates = [&](const Node& node) {
    return std::any_of(node.out.begin(), node.out.end(), [&](ValueId id) {
      return (*s.program.graph)[id].role == Role::parameter || (*s.program.graph)[id].role == Role::optimizer;
    });
  };
  for (size_t n = 0; n < list.loop_end; ++n) EXPECT_FALSE(updates(list.nodes()[n])) << list.nodes()[n].name;
  ASSERT_LT(list.loop_end, list.nodes().size());
  EXPECT_TRUE(updates(list.nodes()[list.loop_end]));
  size_t products = 0;
  for (const Node& node : list.nodes()) products += std::string(node.op->name()) == "linear_weight_update";
  EXPECT_EQ(products, 2 * 4 + 1u);  // four of each block, and the tied head
}

// Nothing may be updated before all of a gradient is there, or while it is still needed whole.
TEST(Program, UpdatesStayLateWhereGradientsAreNeededTogether) {
  ProgramOptions clipped = odd_model(), accumulated = odd_model(), kept = odd_model();
  accumulated.clip = kept.clip = 0;
  accumulated.batch = 2;
  accumulated.accumulate = 2;
  kept.keep_gradients = true;
  for (ProgramOptions options : {clipped, accumulated, kept}) {
    Session late(options);
    options.early_updates = true;
    Session early(options);
    EXPECT_EQ(early.plan.total, late.plan.total);
    for (uint64_t i = 0; i < 2; ++i) EXPECT_EQ(late.step(i), early.step(i));
  }
}

TEST(Program, RecomputingChangesNoBitAndTakesLessMemory) {
  ProgramOptions options = odd_model();
  options.model.layers = 4;
  options.dropout = .1f;
  testing_support::expect_recomputing_changes_no_bit(options);
}

// The plan's own proof trusts its lifetimes. This one trusts nothing: the same steps with no byte used twice.
TEST(Program, SharingMemoryChangesNoBit) {
  for (Recompute choice : {Recompute::nothing, Recompute::cheap, Recompute::blocks})
    for (int lanes : {1, 2}) {
      ProgramOptions options = odd_model();
      options.batch = 2;
      options.accumulate = 2;
      options.lanes = lanes;
      options.recompute = choice;
      options.dropout = .1f;
      options.loss_rows = 17;
      Session shared(options), apart(options, 1, nullptr, 1, false);
      ASSERT_GT(apart.plan.total, shared.plan.total + shared.plan.transient);
      for (uint64_t i = 0; i < 3; ++i)
        EXPECT_EQ(shared.step(i), apart.step(i)) << int(choice) << " " << lanes;
      for (const Parameter& p : shared.program.model->parameters())
        EXPECT_EQ(shared.values(p.id), apart.values(p.id)) << (*shared.program.graph)[p.id].name;
    }
}

TEST(Program, ChunksOfTheLossDoNotChangeIt) {
  ProgramOptions options = odd_model();
  Session whole(options);
  options.loss_rows = 17;
  Session chunks(options);
  EXPECT_LT(chunks.plan.total, whole.plan.total);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_NEAR(whole.step(i), chunks.step(i), 1e-6);
}

TEST(Program, ThePlanIsWithinTwoPercentOfItsBound) {
  for (int64_t batch : {1, 3, 16})
    for (Recompute choice : {Recompute::nothing, Recompute::cheap, Recompute::blocks}) {
      ProgramOptions options = odd_model();
      options.batch = batch;
      options.recompute = choice;
      const Program program = record(options);
      const Plan plan = make_plan(*program.graph, 2);
      EXPECT_EQ(find_overlap(*program.graph, plan), "");
      EXPECT_LE(double(plan.total), 1.02 * double(plan.lower_bound)) << batch;
    }
}

TEST(Program, GenerationWithACacheAgreesWithEvaluation) {
  for (bool tied : {false, true}) {
    ProgramOptions options = odd_model();
    options.model.tied = tied;
    options.model.head_bias = !tied;
    options.evaluate_batch = 1;
    Session s(options);
    for (uint64_t i = 0; i < 20; ++i) s.step(i);
    testing_support::expect_generation_agrees_with_evaluation(s);
  }
}

TEST(Program, CountsItsParameters) {
  const Program program = record(odd_model());
  uint64_t sum = 0;
  for (const Parameter& p : program.model->parameters())
    sum += uint64_t((*program.graph)[p.id].type.elements());
  EXPECT_EQ(program.model->count(), sum);
}

}  // namespace
}  // namespace plimsoll
