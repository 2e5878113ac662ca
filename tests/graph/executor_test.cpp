#include "graph/executor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "graph/ops.hpp"

namespace plimsoll {
namespace {

// a, b -> factor (a + b), long enough for another thread to begin with the next one.
class SlowSum final : public Op {
 public:
  explicit SlowSum(float factor) : factor_(factor) {}
  const char* name() const override { return "slow_sum"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  double work(std::span<const Type>, std::span<const Type>) const override { return 1; }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (int i = 0; i < 8; ++i) f.out(0)[i] = factor_ * (f.in(0)[i] + f.in(1)[i]);
  }

 private:
  float factor_;
};

// After the loop of two lanes: small nodes, some of which need what others have just made. Those that need nothing of each
// other may run at once, from both ends; all others must wait.
TEST(Executor, SmallNodesAfterLanesWaitForWhatTheyNeed) {
  Graph graph;
  List& list = graph.list("train");
  list.repeats = list.lanes = 2;
  const ValueId x = graph.value("x", {{8}}, Role::input, Keep::from_start);
  const ValueId sum = graph.value("sum", {{8}}, Role::gradient, Keep::to_end);
  list.emit_into(ops::scale(1), {x}, {sum}, "copy");
  list.loop_end = list.nodes().size();
  list.emit_into(ops::reduce_lanes(), {sum}, {sum}, "reduction");
  constexpr int count = 12;
  std::vector<ValueId> chain, apart;
  for (int i = 0; i < count; ++i)
    apart.push_back(graph.value(fmt::format("apart{}", i), {{8}}, Role::activation, Keep::forever));
  for (int i = 0; i < count; ++i)
    list.emit_into(std::make_shared<SlowSum>(.5f * float(i + 1)), {sum, sum}, {apart[size_t(i)]}, "apart");
  ValueId last = sum;
  for (int i = 0; i < count; ++i) {
    chain.push_back(graph.value(fmt::format("chain{}", i), {{8}}, Role::activation, Keep::forever));
    list.emit_into(std::make_shared<SlowSum>(1.f), {last, apart[size_t(i)]}, {chain.back()}, "chain");
    last = chain.back();
  }
  list.emit_into(std::make_shared<SlowSum>(50.f), {sum, sum}, {apart[0]}, "written again");

  const Plan plan = make_plan(graph, 2);
  Pool pool(2);
  std::vector<std::byte> memory(plan.total + 64);
  auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  Executor executor(graph, plan, pool, base, {});
  for (int round = 1; round <= 5; ++round) {
    executor.run(0, Moment{}, [&](int, int leaf) { std::fill_n(executor.data(x, leaf), 8, float(round)); });
    const float whole = 2.f * float(round);
    float expected = whole;
    for (int i = 0; i < count; ++i) {
      expected += whole * float(i + 1);
      ASSERT_EQ(executor.data(apart[size_t(i)])[7], whole * float(i ? i + 1 : 100)) << i;
      ASSERT_EQ(executor.data(chain[size_t(i)])[7], expected) << i;
    }
  }
}

}  // namespace
}  // namespace plimsoll
