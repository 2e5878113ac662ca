// The backward rule of every op compared with central finite differences, on every kernel table that this
// machine supports.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "graph/differentiate.hpp"
#include "graph/executor.hpp"
#include "graph/ops.hpp"

namespace plimsoll {
namespace {

// Records op(inputs), takes loss = sum(out[0] * weights) and compares the gradient of every float input with differences.
class OpGradient : public testing::TestWithParam<const kernels::Table*> {
 protected:
  struct Input {
    Type type;
    float spread = 1;
    int32_t below = 0;  // for tokens
  };

  void check(const ops::OpPointer& op, const std::vector<Input>& inputs, double tolerance = 2e-3) {
    Graph graph;
    std::vector<ValueId> ids;
    for (size_t i = 0; i < inputs.size(); ++i)
      ids.push_back(graph.value(fmt::format("in{}", i), inputs[i].type, Role::parameter, Keep::forever));
    List& list = graph.list("test");
    const ValueId out = list.emit(op, ids, "op")[0];
    Gradients gradients;
    const ValueId weights = graph.value("weights", graph[out].type, Role::parameter, Keep::forever);
    const ValueId seed = graph.value("seed", graph[out].type, Role::gradient);
    // A copy of the output that is alive to the end, and a copy of the seed that may be overwritten.
    const ValueId kept = graph.value("kept", graph[out].type, Role::activation, Keep::to_end);
    list.emit_into(ops::dropout({}, false), {out}, {kept}, "keep");
    list.emit_into(ops::dropout({}, false), {weights}, {seed}, "seed");
    gradients.of[out] = seed;
    differentiate(list, gradients);
    for (size_t i = 0; i < ids.size(); ++i)
      if (inputs[i].type.dtype == DType::f32) {
        ASSERT_TRUE(gradients.of.contains(ids[i])) << i;
        const ValueId result = graph.value("result", graph[ids[i]].type, Role::gradient, Keep::forever);
        list.emit_into(ops::dropout({}, false), {gradients.of[ids[i]]}, {result}, "result");
        gradients.of[ids[i]] = result;
      }
    list.loop_end = list.nodes().size();

    const Plan plan = make_plan(graph, 2);
    ASSERT_EQ(find_overlap(graph, plan), "");
    Pool pool(2);
    std::vector<std::byte> memory(plan.total + 64);
    auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    Executor executor(graph, plan, pool, base, {.kernels = GetParam()});
    for (size_t i = 0; i < ids.size(); ++i) {
      CounterRng rng(i, Stream::weights);
      for (int64_t e = 0; e < inputs[i].type.elements(); ++e)
        if (inputs[i].below)
          executor.tokens(ids[i])[e] =
              static_cast<int32_t>(rng.below(uint64_t(e), uint64_t(inputs[i].below)));
        else
          executor.data(ids[i])[e] = inputs[i].spread * static_cast<float>(rng.normal(uint64_t(e)));
    }
    CounterRng rng(99, Stream::weights);
    const int64_t outputs = graph[out].type.elements();
    for (int64_t e = 0; e < outputs; ++e)
      executor.data(weights)[e] = static_cast<float>(rng.normal(uint64_t(e)));
    auto loss = [&] {
      executor.run(0, Moment{.seed = 5});
      double sum = 0;
      for (int64_t e = 0; e < outputs; ++e) sum += double(executor.data(kept)[e]) * executor.data(weights)[e];
      return sum;
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      if (inputs[i].below) continue;
      loss();
      const int64_t n = inputs[i].type.elements();
      std::vector<float> gradient(executor.data(gradients.of[ids[i]]),
                                  executor.data(gradients.of[ids[i]]) + n);
      double largest = 1e-6;
      for (float g : gradient) largest = std::max(largest, std::abs(double(g)));
      for (int64_t e = 0; e < n; e += std::max<int64_t>(1, n / 40)) {
        float& x = executor.data(ids[i])[e];
        const float saved = x, h = 1e-2f;
        x = saved + h;
        const double up = loss();
        x = saved - h;
        const double down = loss();
        x = saved;
        EXPECT_NEAR((up - down) / (2 * h), gradient[size_t(e)], tolerance * largest)
            << op->name() << " input " << i << " element " << e;
      }
    }
  }
};

TEST_P(OpGradient, Linear) {
  for (bool transposed : {false, true}) {
    const Type w = transposed ? Type{{5, 7}} : Type{{7, 5}};
    check(ops::linear({.transposed = transposed, .bias = true, .addend = true}),
          {{{{9, 7}}}, {w}, {{{5}}}, {{{9, 5}}}});
    check(ops::linear({.transposed = transposed, .bias = false}), {{{{33, 7}}}, {w}});
  }
}
TEST_P(OpGradient, LayerNorm) { check(ops::layernorm(), {{{{70, 11}}}, {{{11}}}, {{{11}}}}); }
TEST_P(OpGradient, RmsNorm) {
  check(ops::rmsnorm(1e-5f), {{{{70, 11}}}, {{{11}}}});
  check(ops::rmsnorm(1e-5f), {{{{9, 12}}}, {{{4}}}});  // of three heads
}
TEST_P(OpGradient, SwiGlu) { check(ops::swiglu(), {{{{13, 7}}, 2}, {{{13, 7}}, 2}}); }
TEST_P(OpGradient, Scale) { check(ops::scale(-1.5f), {{{{13, 7}}}}); }
TEST_P(OpGradient, Gelu) { check(ops::gelu(), {{{{13, 7}}, 2}}); }
TEST_P(OpGradient, Attention) {
  for (bool causal : {true, false}) {
    check(ops::attention({.B = 2, .T = 9, .heads = 2, .causal = causal}),
          {{{{18, 8}}}, {{{18, 8}}}, {{{18, 8}}}});
    check(ops::attention({.B = 1, .T = 37, .heads = 1, .causal = causal}),
          {{{{37, 10}}}, {{{37, 10}}}, {{{37, 10}}}});
  }
}
TEST_P(OpGradient, GroupedQueryAttention) {
  for (bool causal : {true, false}) {
    check(ops::attention({.B = 2, .T = 9, .heads = 6, .kv_heads = 2, .causal = causal}),
          {{{{18, 24}}}, {{{18, 8}}}, {{{18, 8}}}});
    check(ops::attention({.B = 1, .T = 31, .heads = 3, .kv_heads = 1, .causal = causal}),
          {{{{31, 15}}}, {{{31, 5}}}, {{{31, 5}}}});
  }
}
// Three groups of heads and two threads: the group that is left over is cut in two.
TEST_P(OpGradient, AttentionHasTheSameBitsHoweverItIsCut) {
  const ops::AttentionOptions options{.B = 1, .T = 150, .heads = 6, .kv_heads = 3};
  const std::vector<Type> types = {{{150, 240}}, {{150, 120}}, {{150, 120}}};
  std::vector<std::vector<float>> alone;
  for (int threads : {1, 2, 3, 7}) {
    Graph graph;
    std::vector<ValueId> ids, results;
    for (const Type& type : types) ids.push_back(graph.value("in", type, Role::parameter, Keep::forever));
    List& list = graph.list("test");
    Gradients gradients;
    results.push_back(list.emit(ops::attention(options), ids, "op")[0]);
    gradients.of[results[0]] = results[0];
    differentiate(list, gradients);
    const Node& backward = list.nodes().back();
    for (ValueId id : backward.out) results.push_back(id);
    for (ValueId id : results) graph.keep(id, Keep::to_end);
    list.loop_end = list.nodes().size();
    std::vector<Type> in, out;
    for (ValueId id : backward.in) in.push_back(graph[id].type);
    for (ValueId id : backward.out) out.push_back(graph[id].type);
    EXPECT_EQ(parts_for(*backward.op, in, out, threads), threads == 2 ? 4 : threads == 7 ? 6 : threads);
    const Plan plan = make_plan(graph, threads);
    Pool pool(threads);
    std::vector<std::byte> memory(plan.total + 64);
    auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    Executor executor(graph, plan, pool, base, {.kernels = GetParam()});
    for (size_t i = 0; i < ids.size(); ++i) {
      CounterRng rng(i, Stream::weights);
      for (int64_t e = 0; e < types[i].elements(); ++e)
        executor.data(ids[i])[e] = static_cast<float>(rng.normal(uint64_t(e)));
    }
    executor.run(0, Moment{});
    for (size_t i = 0; i < results.size(); ++i) {
      const float* data = executor.data(results[i]);
      const std::vector<float> found(data, data + graph[results[i]].type.elements());
      if (threads == 1) alone.push_back(found);
      EXPECT_EQ(found, alone[i]) << threads << " threads, result " << i;
    }
  }
}
TEST_P(OpGradient, AttentionWithDropout) {
  check(ops::attention({.B = 2, .T = 9, .heads = 4, .kv_heads = 2, .dropout = {.3f, 3, 18}}),
        {{{{18, 16}}}, {{{18, 8}}}, {{{18, 8}}}});
}
TEST_P(OpGradient, AttentionOfPackedSamples) {
  check(ops::attention({.B = 2, .T = 37, .heads = 2, .kv_heads = 1}),
        {{{{74, 8}}}, {{{74, 4}}}, {{{74, 4}}}, {{{2, 37}, DType::i32}, 0, 30}});
}
TEST_P(OpGradient, Dropout) {
  check(ops::dropout({.rate = .4f, .site = 1, .micro_rows = 6}, false), {{{{6, 20}}}});
  check(ops::dropout({.rate = .4f, .site = 1, .micro_rows = 6}, true), {{{{6, 20}}}, {{{6, 20}}}});
}
TEST_P(OpGradient, AddTable) { check(ops::add_table(), {{{{12, 5}}}, {{{4, 5}}}}); }
TEST_P(OpGradient, JoinPatches) {
  check(ops::join_patches(4, 2), {{{{32, 3}}}});
  check(ops::join_patches(6, 3), {{{{36, 2}}}});
}
TEST_P(OpGradient, PlaceRows) {
  // Of 2 x 6 inputs with tokens below 3, several are token 1: with rows for all of them, and for two only.
  for (int64_t rows : {12, 2})
    check(ops::place_rows(1), {{{{12, 5}}}, {{{2, 7}, DType::i32}, 1, 3}, {{{rows, 5}}}});
}
TEST_P(OpGradient, Embedding) {
  check(ops::embedding(), {{{{2, 6}, DType::i32}, 0, 9}, {{{9, 8}}}, {{{5, 8}}}});
  check(ops::embedding(), {{{{2, 6}, DType::i32}, 0, 9}, {{{9, 8}}}});
  check(ops::embedding(),
        {{{{2, 6}, DType::i32}, 0, 9}, {{{9, 8}}}, {{{5, 8}}}, {{{2, 5}, DType::i32}, 0, 5}});
}

INSTANTIATE_TEST_SUITE_P(EveryTable, OpGradient,
                         testing::ValuesIn(kernels::available().begin(), kernels::available().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plimsoll
