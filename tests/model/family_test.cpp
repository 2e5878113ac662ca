// A family that src/ has never heard of goes through the same machinery: training, recomputation, lanes, evaluation,
// generation.
#include <gtest/gtest.h>

#include <cmath>

#include "model/grouped.hpp"
#include "model/session.hpp"

namespace plimsoll {
namespace {
using testing_support::grouped_spec;
using testing_support::Session;

ProgramOptions grouped() {
  ProgramOptions o;
  o.model = grouped_spec();
  o.batch = 4;
  o.clip = 1;
  o.adamw = {.9f, .99f, 1e-8f, .1f};
  o.evaluate_batch = 1;
  return o;
}

TEST(Family, AnUnknownOneIsRefusedByName) {
  Graph graph;
  grouped_spec();
  try {
    make_model(graph, {.family = "gtp2"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "model family 'gtp2' is unknown; use one of gpt2, llama, qwen2, qwen3, idefics3, grouped");
  }
}

TEST(Family, CountsItsParametersFromTheGraph) {
  const int64_t C = 36, kv = 12;
  EXPECT_EQ(parameter_count(grouped_spec()),
            uint64_t(41 * C + 3 * (2 * C + 2 * C * C + 2 * C * kv) + 2 * C + C * 8 + 41 * 8));
}

TEST(Family, LearnsAFixedBatchOnEveryInstructionSet) {
  std::vector<float> losses;
  for (const kernels::Table* table : kernels::available()) {
    Session s(grouped(), 2, table);
    losses.push_back(s.step(0));
    EXPECT_NEAR(losses.back(), std::log(41.f), 0.1);
    EXPECT_NEAR(losses.back(), losses.front(), 1e-5) << table->name;
    if (table == &kernels::reference_table) continue;
    float after = 0;
    for (int i = 0; i < 150; ++i) after = s.step(0);
    EXPECT_LT(after, 0.5f * losses.back()) << table->name;
  }
}

TEST(Family, RecomputingChangesNoBitAndTakesLessMemory) {
  testing_support::expect_recomputing_changes_no_bit(grouped());
}

TEST(Family, LanesThreadsAndChunksOfTheLossAddUp) {
  ProgramOptions cut = grouped();
  cut.batch = 1;
  cut.accumulate = 4;
  cut.lanes = 2;
  cut.loss_rows = 17;
  Session whole(grouped()), one(cut, 1), three(cut, 3);
  for (uint64_t i = 0; i < 5; ++i) {
    const float loss = one.step(i);
    EXPECT_NEAR(whole.step(i), loss, 1e-5);
    EXPECT_EQ(loss, three.step(i));
  }
}

TEST(Family, GenerationWithACacheOfItsOwnShapeAgreesWithEvaluation) {
  Session s(grouped());
  for (uint64_t i = 0; i < 20; ++i) s.step(i);
  for (const Value& value : s.program.graph->values())
    EXPECT_TRUE(value.keep != Keep::list || value.type.shape == Shape({29, 12})) << value.name;
  testing_support::expect_generation_agrees_with_evaluation(s);
}

}  // namespace
}  // namespace plimsoll
