#include "graph/plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/ops.hpp"

namespace plimsoll {
namespace {

// A chain of n values of 1 KiB: whatever its length, two are alive at once.
TEST(Plan, AChainNeedsTwoBuffers) {
  Graph graph;
  List& list = graph.list("chain");
  ValueId x = graph.value("x", {{16, 16}}, Role::input, Keep::from_start);
  const ValueId gain = graph.value("gain", {{16}}, Role::parameter, Keep::forever);
  for (int i = 0; i < 20; ++i) x = list.emit(ops::layernorm(), {x, gain, gain}, fmt::format("n{}", i))[0];
  const Plan plan = make_plan(graph, 1);
  EXPECT_EQ(find_overlap(graph, plan), "");
  EXPECT_EQ(plan.persistent, 64u);
  EXPECT_EQ(plan.total, 64u + 2 * 1024 + 2 * 64);
  EXPECT_EQ(plan.total, plan.lower_bound);
}

TEST(Plan, AnOutputTakesOverADyingInput) {
  Graph graph;
  List& list = graph.list("chain");
  ValueId x = graph.value("x", {{256}}, Role::activation);
  const ValueId gain = graph.value("gain", {{256}}, Role::parameter, Keep::forever);
  list.emit_into(ops::add(), {gain, gain}, {x}, "first");
  const ValueId a = list.emit(ops::gelu(), {x}, "a")[0], b = list.emit(ops::gelu(), {a}, "b")[0];
  const Plan plan = make_plan(graph, 1);
  EXPECT_EQ(plan.at[size_t(b)].storage, x);
  EXPECT_EQ(plan.transient, 1024u);
  // Used again later: no longer dying, so it keeps its own bytes.
  list.emit(ops::add(), {a, b}, "c");
  const Plan kept = make_plan(graph, 1);
  EXPECT_NE(kept.at[size_t(b)].offset, kept.at[size_t(a)].offset);
  EXPECT_EQ(find_overlap(graph, kept), "");
}

TEST(Plan, FindsAnOverlapWhenThereIsOne) {
  Graph graph;
  List& list = graph.list("l");
  const ValueId x = graph.value("x", {{64}}, Role::input, Keep::from_start);
  const ValueId y = list.emit(ops::gelu(), {x}, "y")[0];
  list.emit(ops::add(), {x, y}, "z");
  Plan plan = make_plan(graph, 1);
  EXPECT_EQ(find_overlap(graph, plan), "");
  plan.at[size_t(y)].offset = plan.at[size_t(x)].offset;
  EXPECT_NE(find_overlap(graph, plan), "");
}

// The check itself, on plans that nobody made: right by one node, one lane, one byte, and wrong by as little.
TEST(Plan, TheCheckIsExact) {
  Graph graph;
  const ValueId a = graph.value("a", {{16}}, Role::activation),
                b = graph.value("b", {{16}}, Role::activation);
  Plan plan;
  plan.at = {{.bytes = 64, .list = 0, .first = 0, .last = 2, .storage = a},
             {.bytes = 64, .list = 0, .first = 3, .last = 4, .storage = b}};
  plan.scratch_offset = 64;
  EXPECT_EQ(find_overlap(graph, plan), "");
  plan.at[1].first = 2;
  EXPECT_NE(find_overlap(graph, plan), "") << "both are held at node 2";
  plan.at[1].first = 3;

  plan.at[0].bytes = 65;
  EXPECT_NE(find_overlap(graph, plan), "") << "its last byte is scratch";
  plan.at[0].bytes = 64;

  plan.scratch_offset = 192;
  for (Place& place : plan.at) place.lane_stride = 64, place.copies = 2;
  EXPECT_EQ(find_overlap(graph, plan), "") << "a lane uses its own bytes again";
  plan.at[1].offset = 64;
  EXPECT_NE(find_overlap(graph, plan), "") << "b of lane 0 lies where lane 1 may still hold a";
}

TEST(Plan, ListsShareTheTransientRegion) {
  Graph graph;
  for (const char* name : {"one", "two"}) {
    List& list = graph.list(name);
    const ValueId x = graph.value("x", {{1024}}, Role::input, Keep::from_start);
    list.emit(ops::gelu(), {x}, "y");
  }
  EXPECT_EQ(make_plan(graph, 1).transient, 2 * 4096u);
}

TEST(Plan, WhatALoopHandsOnStaysAlive) {
  Graph graph;
  List& list = graph.list("loop");
  const ValueId x = graph.value("x", {{1024}}, Role::input, Keep::from_start);
  const ValueId y = list.emit(ops::gelu(), {x}, "y")[0];
  const ValueId z = list.emit(ops::gelu(), {y}, "z")[0];
  list.loop_end = list.nodes().size();
  list.repeats = 3;
  list.emit(ops::gelu(), {z}, "after");
  const Plan plan = make_plan(graph, 1);
  EXPECT_EQ(plan.at[size_t(z)].first, 0);  // z is added up over the repeats: y may not take its bytes
  EXPECT_EQ(find_overlap(graph, plan), "");
}

TEST(Plan, LanesShareNothingTheyWrite) {
  Graph graph;
  List& list = graph.list("loop");
  const ValueId x = graph.value("x", {{1024}}, Role::input, Keep::from_start);
  const ValueId y = list.emit(ops::add(), {x, x}, "y")[0];
  const ValueId z = list.emit(ops::add(), {y, y}, "z")[0];
  list.loop_end = list.nodes().size();
  list.repeats = 4;
  list.lanes = 3;
  list.emit_into(ops::reduce_lanes(), {z}, {z}, "reduction");
  list.emit(ops::add(), {z, z}, "after");
  Plan plan = make_plan(graph, 1);
  EXPECT_EQ(find_overlap(graph, plan), "");
  EXPECT_EQ(plan.handed[0].bytes, 4096u);  // z
  EXPECT_EQ(plan.transient,
            3 * 4096u + 3 * 2 * 4096u);  // z a lane; x and y a lane, where `after` lives later
  EXPECT_EQ(plan.total, plan.lower_bound);
  // Different lanes are never in step: even values that are not alive at the same node may not meet.
  plan.at[size_t(y)].lane_stride = 4096;
  EXPECT_NE(find_overlap(graph, plan), "");
}

TEST(Plan, WhatLanesHandOnMustBeAddedUp) {
  Graph graph;
  List& list = graph.list("loop");
  const ValueId x = graph.value("x", {{64}}, Role::input, Keep::from_start);
  const ValueId y = list.emit(ops::add(), {x, x}, "y")[0];
  list.loop_end = 1;
  list.repeats = list.lanes = 2;
  list.emit(ops::add(), {y, y}, "after");
  EXPECT_THROW(make_plan(graph, 1), Error);
}

TEST(Plan, BytesFollowFromTheDtype) {
  Graph graph;
  List& list = graph.list("l");
  const ValueId w = graph.value("w", {{64, 32}, DType::bf16}, Role::parameter, Keep::forever);
  graph.freeze(w);
  graph.value("staging", {{100}, DType::u8}, Role::scratch, Keep::forever);
  const ValueId x = graph.value("x", {{4, 64}}, Role::input, Keep::from_start);
  list.emit(ops::linear({.bias = false}), {x, w}, "y");
  const Plan plan = make_plan(graph, 1);
  EXPECT_EQ(plan.persistent, 64 * 32 * 2 + 128u);
  EXPECT_EQ(plan.by_dtype[size_t(DType::bf16)], 64 * 32 * 2u);
  EXPECT_EQ(plan.by_dtype[size_t(DType::u8)], 128u);
  uint64_t sum = 0;
  for (uint64_t bytes : plan.by_dtype) sum += bytes;
  EXPECT_EQ(sum, plan.lower_bound);
  EXPECT_NE(plan_svg(graph, plan).find("w bf16[64, 32]"), std::string::npos);
}

TEST(Graph, ColumnsAreRefusedByOpsThatNeedWholeRows) {
  Graph graph;
  List& list = graph.list("l");
  const ValueId x = graph.value("x", {{4, 12}}, Role::input, Keep::from_start);
  const ValueId part = graph.columns(x, 4, 4, "part");
  EXPECT_THROW(list.emit(ops::gelu(), {part}, "y"), Error);
  EXPECT_THROW(graph.columns(x, 10, 4, "beyond"), Error);
  EXPECT_NO_THROW(list.emit(ops::attention({.B = 1, .T = 4, .heads = 2}), {part, part, part}, "a"));
}

// Random lists of mixed sizes, fan-out and in-place ops.
RC_GTEST_PROP(Plan, NeverOverlapsAndStaysNearTheBound, ()) {
  Graph graph;
  List& list = graph.list("random");
  std::vector<ValueId> values;
  const int inputs = *rc::gen::inRange(1, 4);
  for (int i = 0; i < inputs; ++i)
    values.push_back(graph.value("in", {{*rc::gen::inRange(1, 2000)}}, Role::input, Keep::from_start));
  const int nodes = *rc::gen::inRange(1, 60), loop = *rc::gen::inRange(0, nodes + 1);
  list.repeats = *rc::gen::inRange(1, 5);
  list.lanes = *rc::gen::inRange(1, list.repeats + 1);
  for (int i = 0; i < nodes; ++i) {
    if (i == loop) {
      list.loop_end = list.nodes().size();
      const std::vector<ValueId> handed(values.begin() + inputs, values.end());
      if (list.lanes > 1 && !handed.empty()) list.emit_into(ops::reduce_lanes(), handed, handed, "reduction");
    }
    const ValueId x =
        values[size_t(*rc::gen::inRange<int>(std::max(0, int(values.size()) - 6), int(values.size())))];
    const auto op = *rc::gen::element(0, 1, 2);
    if (op == 2) {  // change of size: one row through a product
      const int64_t n = graph[x].type.elements(), wide = *rc::gen::inRange(1, 2000);
      const ValueId row = graph.view(x, 0, {{1, n}}, "row");
      const ValueId w = graph.value("w", {{n, wide}}, Role::parameter, Keep::forever);
      values.push_back(list.emit(ops::linear({.bias = false}), {row, w}, "linear")[0]);
    } else {
      values.push_back(op ? list.emit(ops::gelu(), {x}, "gelu")[0] : list.emit(ops::add(), {x, x}, "add")[0]);
    }
  }
  if (loop == nodes) list.loop_end = list.nodes().size();
  const Plan plan = make_plan(graph, 2);
  RC_ASSERT(find_overlap(graph, plan) == "");
  RC_ASSERT(plan.total >= plan.lower_bound);
  // Lanes keep what they hand on to the end of the list, so a bound that frees it is out of reach.
  if (list.lanes == 1) RC_ASSERT(double(plan.total) <= 1.25 * double(plan.lower_bound));
}

}  // namespace
}  // namespace plimsoll
