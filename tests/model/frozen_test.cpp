// Frozen parameters: no gradients, no moments, nothing computed below them; the others learn as before, to the bit. Frozen
// matrices in half precision give the bits of the same numbers held as f32.
#include <gtest/gtest.h>

#include <set>

#include "model/grouped.hpp"
#include "model/session.hpp"
#include "tensor/half.hpp"

namespace plimsoll {
namespace {
using testing_support::grouped_spec;
using testing_support::Session;

ProgramOptions three_blocks() {
  ProgramOptions o;
  o.model = {.layers = 3, .heads = 2, .dim = 24, .ff = 48, .context = 17, .vocab = 31};
  o.batch = 3;
  o.clip = 1;
  o.keep_gradients = true;
  return o;
}

// Trains the last block, its norm and the head.
Storage last_block(std::string_view name, int block) {
  const bool trained = block == 2 || (block == no_block && !name.starts_with("w"));
  return {.frozen = !trained};
}

bool is_matrix(std::string_view name) { return name.ends_with("weight") && name.find("ln_") == name.npos; }

// Trains norms and biases of all blocks: gradients go through every frozen matrix.
Storage vectors(std::string_view name, int) { return {.frozen = is_matrix(name)}; }

std::set<std::string> names(const Program& program, const std::vector<ValueId>& ids) {
  std::set<std::string> out;
  for (ValueId id : ids) out.insert((*program.graph)[id].name);
  return out;
}

TEST(Frozen, NeitherGradientsNorMomentsNorNodes) {
  ProgramOptions all = three_blocks(), some = three_blocks();
  some.model.storage = last_block;
  const Program whole = record(all), part = record(some);
  EXPECT_EQ(part.trained.size(), 12u + 4);  // the block's, ln_f's, lm_head's
  EXPECT_EQ(part.gradients.size(), part.trained.size());
  EXPECT_EQ(part.first_moment.size(), part.trained.size());
  const auto& nodes = part.graph->lists()[0].nodes();
  int backward = 0;
  for (const Node& node : nodes) {
    const bool emitted = node.name.find(".d_") != std::string::npos;
    backward += emitted;
    EXPECT_TRUE(!emitted || node.block == 2 || node.block == no_block) << node.name;
    EXPECT_FALSE(emitted && node.name.starts_with("embedding")) << node.name;
    // The first norm of the block passes nothing on below: its sums for gain and bias are all that is needed of it.
    for (ValueId id : node.out)
      EXPECT_TRUE(node.name != "h.2.ln_1.d_x" || (*part.graph)[id].role == Role::scratch) << node.name;
  }
  EXPECT_GT(backward, 10);
  EXPECT_LT(nodes.size(), whole.graph->lists()[0].nodes().size() - 2 * 12);
  uint64_t trained = 0, everything = 0;
  for (const Parameter& p : whole.model->parameters()) everything += (*whole.graph)[p.id].type.bytes();
  for (const Parameter& p : part.trained) trained += (*part.graph)[p.id].type.bytes();
  const Plan a = make_plan(*whole.graph, 1), b = make_plan(*part.graph, 1);
  EXPECT_EQ(find_overlap(*part.graph, b), "");
  auto optimizer = [](const Plan& plan) { return plan.by_role[size_t(Role::optimizer)]; };
  EXPECT_GE(optimizer(b), 2 * trained);
  EXPECT_LE(optimizer(b), 2 * trained + 64 * 2 * part.trained.size());
  EXPECT_EQ(a.persistent - b.persistent, optimizer(a) - optimizer(b));
  EXPECT_LT(b.total + 3 * (everything - trained) / 2, a.total + 64 * 1024);
  EXPECT_FALSE(names(part, part.gradients).contains("d.wte.weight"));
}

TEST(Frozen, AMatrixBetweenTrainedOnesPassesGradientsAndGetsNone) {
  ProgramOptions options = three_blocks();
  options.model.storage = vectors;
  const Program program = record(options);
  int inputs = 0;
  for (const Node& node : program.graph->lists()[0].nodes()) {
    EXPECT_FALSE(node.name.ends_with(".d_w") || node.name.ends_with("te.weight")) << node.name;
    inputs += std::string_view(node.op->name()) == "linear_input";
  }
  // Four products a block and the head; nothing is trained below the first norm but that norm.
  EXPECT_EQ(inputs, 4 * 3 + 1);
  for (const Parameter& p : program.trained) EXPECT_FALSE(is_matrix((*program.graph)[p.id].name));
}

TEST(Frozen, TheOthersGradientsKeepTheirBits) {
  for (auto* storage : {last_block, vectors})
    for (auto [recompute, lanes] : {std::pair(Recompute::nothing, 1), std::pair(Recompute::nothing, 2),
                                    std::pair(Recompute::blocks, 1)}) {
      ProgramOptions all = three_blocks();
      all.recompute = recompute;
      all.lanes = lanes;
      all.batch = 1;
      all.accumulate = 2;
      ProgramOptions some = all;
      some.model.storage = storage;
      Session whole(all), part(some);
      EXPECT_EQ(whole.step(0), part.step(0));
      size_t same = 0;
      for (size_t i = 0; i < whole.program.trained.size(); ++i)
        for (size_t j = 0; j < part.program.trained.size(); ++j) {
          const ValueId a = whole.program.trained[i].id, b = part.program.trained[j].id;
          if ((*whole.program.graph)[a].name != (*part.program.graph)[b].name) continue;
          EXPECT_EQ(whole.values(whole.program.gradients[i]), part.values(part.program.gradients[j]))
              << (*part.program.graph)[b].name;
          ++same;
        }
      EXPECT_EQ(same, part.program.trained.size());
    }
}

TEST(Frozen, WhatIsFrozenStaysAndTheRestLearns) {
  ProgramOptions some = three_blocks();
  some.keep_gradients = false;
  some.model.storage = last_block;
  Session s(some);
  std::vector<std::vector<float>> before;
  for (const Parameter& p : s.program.model->parameters()) before.push_back(s.values(p.id));
  const float first = s.step(0);
  float last = first;
  for (int i = 0; i < 100; ++i) last = s.step(0);
  EXPECT_LT(last, .8f * first);
  for (size_t i = 0; i < before.size(); ++i) {
    const Parameter& p = s.program.model->parameters()[i];
    EXPECT_EQ(s.values(p.id) == before[i], p.frozen) << (*s.program.graph)[p.id].name;
  }
}

// A base in half precision against the same base widened: bits, on every instruction set, trained, evaluated, generated.
TEST(Frozen, HalfPrecisionMatricesGiveTheBitsOfTheirNumbers) {
  for (auto [dtype, trained] : {std::pair(DType::bf16, &last_block), std::pair(DType::bf16, &vectors),
                                std::pair(DType::f16, &vectors)})
    for (const kernels::Table* table : kernels::available()) {
      ProgramOptions half = three_blocks();
      half.keep_gradients = false;
      half.evaluate_batch = 2;
      ProgramOptions wide = half;
      wide.model.storage = trained;
      half.model.storage = [dtype = dtype, trained = trained](std::string_view name, int block) {
        Storage storage = trained(name, block);
        if (storage.frozen && is_matrix(name)) storage.dtype = dtype;
        return storage;
      };
      Session a(half, 2, table), b(wide, 2, table);
      EXPECT_LT(a.plan.persistent, b.plan.persistent);
      size_t narrow = 0;
      for (size_t i = 0; i < a.program.model->parameters().size(); ++i) {
        const ValueId from = a.program.model->parameters()[i].id, to = b.program.model->parameters()[i].id;
        const Type type = (*a.program.graph)[from].type;
        narrow += type.dtype == dtype;
        for (int64_t e = 0; e < type.elements(); ++e)
          b.executor->data(to)[e] = widened(a.executor->bytes(from), type.dtype, e);
      }
      EXPECT_EQ(narrow, trained == vectors ? 2 + 3 * 4 + 1u : 2 + 2 * 4u);
      for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(a.step(i), b.step(i)) << name_of(dtype) << table->name;
      for (size_t i = 0; i < a.program.trained.size(); ++i)
        EXPECT_EQ(a.values(a.program.trained[i].id), b.values(b.program.trained[i].id));
      for (Session* s : {&a, &b}) {
        for (int t = 0; t < 5; ++t) {
          *s->executor->tokens(s->program.token) = t * 3;
          s->executor->run(s->program.generate, Moment{.position = t});
        }
      }
      EXPECT_EQ(a.values(a.program.logits), b.values(b.program.logits));
    }
}

TEST(Frozen, TrainedParametersAreNotStoredInHalfPrecision) {
  Graph graph;
  ModelSpec spec = grouped_spec();
  spec.storage = [](std::string_view, int) { return Storage{.frozen = false, .dtype = DType::bf16}; };
  EXPECT_THROW(make_model(graph, spec), Error);
  spec.storage = [](std::string_view name, int) {  // a norm's gain is read as f32
    return Storage{.frozen = true, .dtype = name.ends_with("gain") ? DType::bf16 : DType::f32};
  };
  ProgramOptions options;
  options.model = spec;
  EXPECT_THROW(record(options), Error);
}

}  // namespace
}  // namespace plimsoll
