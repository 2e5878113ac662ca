// A recorded program with its memory on the heap, for tests.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "graph/executor.hpp"
#include "model/program.hpp"

namespace plimsoll::testing_support {

// The same plan with every value that comes and goes in a place of its own: nothing is reused, nothing taken over. Only
// the blocks that lanes hand on stay where they are, for they are added up as blocks.
inline Plan without_sharing(const Graph& graph, Plan plan) {
  auto place = [&](ValueId id) -> Place& { return plan.at[size_t(id)]; };
  for (ValueId id = 0; id < ValueId(graph.values().size()); ++id) {
    Place& at = place(id);
    if (graph[id].base != no_value || at.list < 0) continue;
    const int leaves = graph.lists()[size_t(at.list)].leaves().count;
    const Handed& handed = plan.handed[size_t(at.list)];
    if (at.offset >= handed.offset && at.offset < handed.offset + handed.bytes) continue;
    at.offset = plan.total;
    at.storage = id;
    at.bytes = (graph[id].type.bytes() + plan_alignment - 1) / plan_alignment * plan_alignment;
    at.lane_stride = leaves > 1 ? at.bytes : 0;
    at.copies = leaves;
    plan.total += at.bytes * uint64_t(leaves);
  }
  for (ValueId id = 0; id < ValueId(graph.values().size()); ++id) {
    if (graph[id].base == no_value) continue;
    const Place& base = place(graph.owner(id));
    place(id).offset = base.offset + graph.owner_offset(id);
    place(id).lane_stride = base.lane_stride;
    place(id).copies = base.copies;
  }
  return plan;
}

struct Session {
  explicit Session(const ProgramOptions& options, int threads = 1, const kernels::Table* table = nullptr,
                   uint64_t seed = 1, bool sharing = true)
      : program(record(options)),
        plan(sharing ? make_plan(*program.graph, threads)
                     : without_sharing(*program.graph, make_plan(*program.graph, threads))),
        pool(threads),
        memory(plan.total + 64) {
    auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    executor =
        std::make_unique<Executor>(*program.graph, plan, pool, base, Executor::Options{.kernels = table});
    for (const Parameter& p : program.model->parameters())
      initialise(*program.graph, p, seed, executor->bytes(p.id), 0, (*program.graph)[p.id].type.elements());
    for (const auto* moments : {&program.first_moment, &program.second_moment, &program.moment_scales})
      for (ValueId id : *moments) std::memset(executor->bytes(id), 0, (*program.graph)[id].type.bytes());
  }
  // One step on tokens drawn from (step, row): the same whatever the split into micro-batches.
  float step(uint64_t step, float lr = 1e-3f) {
    run(step, lr);
    return *executor->data(program.loss);
  }
  bool run(uint64_t step, float lr = 1e-3f, Interrupt leave = {}) {
    const Type type = (*program.graph)[program.tokens].type;
    const int64_t vocab = program.model->spec().vocab, n = type.elements();
    return executor->run(
        program.train, Moment{.step = step, .learning_rate = lr, .seed = 3},
        [&](int micro, int lane) {
          const CounterRng rng(step, Stream::windows);
          for (int64_t i = 0; i < n; ++i)
            executor->tokens(program.tokens, lane)[i] =
                int32_t(rng.below(uint64_t(micro * n + i), uint64_t(vocab)));
        },
        {}, leave);
  }
  std::vector<float> values(ValueId id) const {
    const float* data = executor->data(id);
    return {data, data + (*program.graph)[id].type.elements()};
  }
  Program program;
  Plan plan;
  Pool pool;
  std::vector<std::byte> memory;
  std::unique_ptr<Executor> executor;
};

// Each further choice of recomputation takes less memory and changes no bit of the losses or of what is trained.
inline void expect_recomputing_changes_no_bit(ProgramOptions options) {
  Session kept(options);
  uint64_t before = kept.plan.total;
  std::vector<float> losses;
  for (uint64_t i = 0; i < 4; ++i) losses.push_back(kept.step(i));
  for (Recompute choice : {Recompute::cheap, Recompute::blocks}) {
    options.recompute = choice;
    Session again(options);
    EXPECT_EQ(find_overlap(*again.program.graph, again.plan), "");
    EXPECT_LT(again.plan.total, before);
    before = again.plan.total;
    for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(again.step(i), losses[i]);
    for (const Parameter& p : kept.program.trained) EXPECT_EQ(kept.values(p.id), again.values(p.id));
  }
}

// The losses of a window token by token through the cached list are those of an evaluation pass over it.
inline void expect_generation_agrees_with_evaluation(Session& s) {
  const int64_t T = s.program.model->spec().context, V = s.program.model->spec().vocab;
  std::vector<int32_t> tokens(size_t(T) + 1);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = int32_t(i * 7 % size_t(V));
  std::vector<double> expected;
  for (int64_t t = 0; t < T; ++t) {
    *s.executor->tokens(s.program.token) = tokens[size_t(t)];
    s.executor->run(s.program.generate, Moment{.position = int(t)});
    const auto logits = s.values(s.program.logits);
    double sum = 0;
    for (float x : logits) sum += std::exp(double(x));
    expected.push_back(std::log(sum) - logits[size_t(tokens[size_t(t) + 1])]);
  }
  std::copy(tokens.begin(), tokens.end(), s.executor->tokens(s.program.evaluate_tokens));
  s.executor->run(s.program.evaluate, Moment{});
  const auto losses = s.values(s.program.evaluate_losses);
  for (int64_t t = 0; t < T; ++t) EXPECT_NEAR(losses[size_t(t)], expected[size_t(t)], 2e-5) << t;
}

}  // namespace plimsoll::testing_support
