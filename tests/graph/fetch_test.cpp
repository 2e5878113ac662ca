// Fetched values: begun one ahead of their use, fetched again for the backward pass, and never used after a failure.
#include "graph/fetch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "graph/differentiate.hpp"
#include "graph/executor.hpp"
#include "graph/ops.hpp"

namespace plimsoll {
namespace {

// Three matrices of 8 x 8; writes down what is asked of it.
class Written final : public Fetcher {
 public:
  void begin(int64_t piece, std::byte* into) override {
    log += fmt::format("b{} ", piece);
    for (int i = 0; i < 64; ++i)
      reinterpret_cast<float*>(into)[i] = float(piece + 1) * (i % 9 == 0 ? 1.f : .01f);
    ++under_way;
    most = std::max(most, under_way);
  }
  void await(const std::byte*) override { log += "a ", --under_way; }
  void drain() override { log += "drain ", under_way = 0; }
  bool failed() const override { return broken; }

  std::string log;
  int under_way = 0, most = 0;
  bool broken = false;
};

struct Net {
  explicit Net(bool fetched) {
    List& list = graph.list("test");
    x = graph.value("x", {{4, 8}}, Role::parameter, Keep::forever);
    ValueId h = x;
    for (int layer = 0; layer < 3; ++layer) {
      ValueId w = no_value;
      if (fetched) {
        w = emit_fetch(list, source, layer, {{8, 8}}, fmt::format("w{}", layer));
      } else {
        w = kept.emplace_back(
            graph.value(fmt::format("w{}", layer), {{8, 8}}, Role::parameter, Keep::forever));
        graph.freeze(w);
      }
      h = list.emit(ops::gelu(), {list.emit(ops::linear({.bias = false}), {h, w}, "y")[0]}, "h")[0];
    }
    const ValueId seed = graph.value("seed", {{4, 8}}, Role::gradient);
    list.emit_into(ops::scale(1), {h}, {seed}, "seed");
    Gradients gradients;
    gradients.of[h] = seed;
    differentiate(list, gradients);
    list.loop_end = list.nodes().size();
    dx = graph.value("dx", {{4, 8}}, Role::gradient, Keep::forever);
    list.emit_into(ops::scale(1), {gradients.of.at(x)}, {dx}, "dx");
    list.loop_end = list.nodes().size() - 1;
    prefetch(list);
    plan = make_plan(graph, 1);
    memory.resize(plan.total + 64);
    auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    executor.emplace(graph, plan, pool, base, Executor::Options{.source = source.get()});
    for (int i = 0; i < 32; ++i) executor->data(x)[i] = float(i % 5) - 2;
    for (size_t k = 0; k < kept.size(); ++k) {
      source->begin(int64_t(k), executor->bytes(kept[k]));
      source->await(nullptr);
    }
    source->log.clear();
  }
  std::vector<float> gradient() { return {executor->data(dx), executor->data(dx) + 32}; }

  std::shared_ptr<Written> source = std::make_shared<Written>();
  Graph graph;
  ValueId x, dx;
  std::vector<ValueId> kept;
  Plan plan;
  Pool pool{1};
  std::vector<std::byte> memory;
  std::optional<Executor> executor;
};

TEST(Fetch, IsOneAheadAndComesAgainForTheBackwardPass) {
  Net fetched(true), kept(false);
  EXPECT_EQ(find_overlap(fetched.graph, fetched.plan), "");
  ASSERT_TRUE(fetched.executor->run(0, Moment{}));
  ASSERT_TRUE(kept.executor->run(0, Moment{}));
  EXPECT_EQ(fetched.gradient(), kept.gradient());
  EXPECT_EQ(fetched.source->log, "b0 a b1 a b2 a b2 a b1 a b0 a ");
  EXPECT_EQ(fetched.source->most, 1);
  EXPECT_EQ(fetched.source->under_way, 0);
  EXPECT_EQ(fetched_bytes(fetched.graph.lists()[0]), 6u * 256);
}

TEST(Fetch, AFailureAbandonsTheRunBeforeWhatFollowsTheLoop) {
  Net net(true);
  ASSERT_TRUE(net.executor->run(0, Moment{}));
  const auto before = net.gradient();
  net.executor->data(net.x)[0] = 7;
  net.source->broken = true;
  EXPECT_FALSE(net.executor->run(0, Moment{}));
  EXPECT_EQ(net.gradient(), before);
}

}  // namespace
}  // namespace plimsoll
