// Llama and its relatives through the machinery of every family, with and without adapters, and packed samples of both
// families that can be published.
#include "model/llama.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/session.hpp"

namespace plimsoll {
namespace {
using testing_support::Session;

struct Variant {
  const char* name;
  bool norms_and_biases, tied, adapters;
  float dropout;
};

ProgramOptions options_of(const Variant& v) {
  auto details = std::make_shared<LlamaDetails>();
  details->head_dim = 10;
  details->qk_norms = details->qkv_bias = details->out_bias = details->mlp_bias = v.norms_and_biases;
  ProgramOptions o;
  o.model = {.family = "llama",
             .layers = 3,
             .heads = 4,
             .kv_heads = 2,
             .dim = 36,
             .ff = 50,
             .context = 29,
             .vocab = 41,
             .tied = v.tied,
             .head_bias = false,
             .details = details};
  if (v.adapters) {
    auto lora = std::make_shared<Lora>();
    lora->rank = 3, lora->scale = 2;
    lora->targets = [](std::string_view module) { return !module.ends_with("k_proj"); };
    o.model.lora = lora;
    o.model.storage = [](std::string_view name, int) {
      return Storage{.frozen = name.find("lora_") == name.npos};
    };
  }
  o.batch = 4;
  o.lora_dropout = v.dropout;
  o.clip = 1;
  o.adamw = {.9f, .99f, 1e-8f, .1f};
  o.evaluate_batch = 1;
  return o;
}

class LlamaFamily : public testing::TestWithParam<Variant> {};

TEST_P(LlamaFamily, LearnsAFixedBatchOnEveryInstructionSet) {
  std::vector<float> losses;
  for (const kernels::Table* table : kernels::available()) {
    Session s(options_of(GetParam()), 2, table);
    losses.push_back(s.step(0, 1e-2f));
    EXPECT_NEAR(losses.back(), std::log(41.f), 0.2);
    EXPECT_NEAR(losses.back(), losses.front(), 1e-5) << table->name;
    if (table == &kernels::reference_table) continue;
    float after = 0;
    for (int i = 0; i < 150; ++i) after = s.step(0, 1e-2f);
    EXPECT_LT(after, (GetParam().adapters ? 0.9f : 0.5f) * losses.back()) << table->name;
  }
}

TEST_P(LlamaFamily, RecomputingChangesNoBitAndTakesLessMemory) {
  ProgramOptions options = options_of(GetParam());
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

TEST_P(LlamaFamily, SharingMemoryChangesNoBitAndThePlanIsWithinTwoPercentOfItsBound) {
  Session shared(options_of(GetParam())), apart(options_of(GetParam()), 1, nullptr, 1, false);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(shared.step(i), apart.step(i));
  for (const Parameter& p : shared.program.trained) EXPECT_EQ(shared.values(p.id), apart.values(p.id));
  EXPECT_LT(double(shared.plan.total), 1.02 * double(shared.plan.lower_bound));
}

TEST_P(LlamaFamily, LanesThreadsAndChunksOfTheLossAddUp) {
  ProgramOptions cut = options_of(GetParam());
  cut.batch = 1, cut.accumulate = 4, cut.lanes = 2, cut.loss_rows = 17;
  Session whole(options_of(GetParam())), one(cut, 1), three(cut, 3);
  for (uint64_t i = 0; i < 5; ++i) {
    const float loss = one.step(i);
    EXPECT_NEAR(whole.step(i), loss, 1e-5);
    EXPECT_EQ(loss, three.step(i));
  }
}

TEST_P(LlamaFamily, GenerationWithItsCacheAgreesWithEvaluation) {
  Session s(options_of(GetParam()));
  for (uint64_t i = 0; i < 20; ++i) s.step(i);
  testing_support::expect_generation_agrees_with_evaluation(s);
}

INSTANTIATE_TEST_SUITE_P(Variants, LlamaFamily,
                         testing::Values(Variant{"plain", false, true, false, 0},
                                         Variant{"qwen", true, false, false, 0},
                                         Variant{"adapters", false, true, true, 0},
                                         Variant{"dropped", true, true, true, 0.2f}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RotaryFrequencies, AreStretchedWhereWavesAreLong) {
  using Kind = RotaryScaling::Kind;
  const auto plain = rotary_frequencies(64, 500000),
             linear = rotary_frequencies(64, 500000, {Kind::linear, 4}),
             scaled = rotary_frequencies(64, 500000, {Kind::llama3, 32, 1, 4, 8192});
  ASSERT_EQ(plain.size(), 32u);
  EXPECT_EQ(plain[0], 1);
  EXPECT_EQ(linear[5], plain[5] / 4);
  EXPECT_EQ(scaled[0], plain[0]);
  EXPECT_FLOAT_EQ(scaled[31], plain[31] / 32);
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_LE(scaled[i], plain[i]);
    EXPECT_GE(scaled[i] * 32.001f, plain[i]);
  }
}

// A window of several samples costs what its samples cost one by one, and gives the same gradients.
class Packed : public testing::TestWithParam<const char*> {
 protected:
  static ProgramOptions options(int64_t context, bool packed) {
    ProgramOptions o;
    o.model = {.family = GetParam(),
               .layers = 2,
               .dim = 32,
               .ff = 48,
               .context = context,
               .vocab = 41,
               .head_bias = false,
               .positions = 30};
    o.packed = packed;
    o.keep_gradients = true;
    o.generate = false;
    o.evaluate_batch = 1;
    return o;
  }
};

TEST_P(Packed, SamplesAreAsThoughEachWereAlone) {
  const std::vector<int64_t> lengths = {11, 1, 18};
  Session together(options(30, true));
  std::vector<int32_t> tokens(31);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = int32_t(i * 17 % 41);
  auto fill = [&](ValueId to_tokens, ValueId to_positions, ValueId to_targets) {
    Executor& e = *together.executor;
    std::copy(tokens.begin(), tokens.end(), e.tokens(to_tokens));
    int64_t at = 0;
    for (int64_t length : lengths)
      for (int64_t t = 0; t < length; ++t, ++at) {
        e.tokens(to_positions)[at] = int32_t(t);
        e.tokens(to_targets)[at] = t + 1 < length ? tokens[size_t(at) + 1] : -1;
      }
  };
  const Program& p = together.program;
  fill(p.evaluate_tokens, p.evaluate_positions, p.evaluate_targets);
  together.executor->run(p.evaluate, Moment{});
  const auto losses = together.values(p.evaluate_losses);
  const int counted = 10 + 17;
  together.executor->run(p.train, Moment{.loss_scale = 30.f / counted},
                         [&](int, int) { fill(p.tokens, p.positions, p.targets); });
  const float loss = *together.executor->data(p.loss);

  double sum = 0;
  std::vector<std::vector<double>> gradients(p.gradients.size());
  int64_t first = 0;
  for (int64_t length : lengths) {
    if (length > 1) {
      Session alone(options(length - 1, false));
      const Program& q = alone.program;
      alone.executor->run(q.train, Moment{}, [&](int, int) {
        std::copy_n(tokens.begin() + first, length, alone.executor->tokens(q.tokens));
      });
      sum += double(*alone.executor->data(q.loss)) * double(length - 1);
      for (size_t i = 0; i < q.gradients.size(); ++i) {
        const auto gradient = alone.values(q.gradients[i]);
        gradients[i].resize(gradient.size());
        for (size_t e = 0; e < gradient.size(); ++e)
          gradients[i][e] += double(gradient[e]) * double(length - 1) / counted;
      }
    }
    EXPECT_EQ(losses[size_t(first + length - 1)], 0);
    first += length;
  }
  EXPECT_NEAR(loss, sum / counted, 1e-5);
  EXPECT_NEAR(std::accumulate(losses.begin(), losses.end(), 0.), sum, 1e-4);
  for (size_t i = 0; i < p.gradients.size(); ++i) {
    const auto gradient = together.values(p.gradients[i]);
    for (size_t e = 0; e < gradient.size(); ++e)
      ASSERT_NEAR(gradient[e], gradients[i][e], 1e-5) << (*p.graph)[p.trained[i].id].name;
  }
}

// Rows that do not count cost no logits: chunks beyond those that do are left out, and nothing else changes.
TEST_P(Packed, LogitsAreMadeOfRowsThatCountOnly) {
  ProgramOptions cut = options(30, true);
  cut.loss_rows = 4;
  cut.accumulate = 2;
  // Every third target of the first micro-batch counts, none of the second.
  auto step = [](Session& s) {
    const Program& p = s.program;
    s.executor->run(p.train, Moment{.loss_scale = 6}, [&](int micro, int) {
      for (int i = 0; i < 31; ++i) s.executor->tokens(p.tokens)[i] = (i * 17 + micro) % 41;
      for (int i = 0; i < 30; ++i) {
        s.executor->tokens(p.positions)[i] = i;
        s.executor->tokens(p.targets)[i] = micro == 0 && i % 3 == 1 ? (i * 5) % 41 : -1;
      }
    });
    return *s.executor->data(p.loss);
  };
  ProgramOptions once = cut;
  once.loss_rows = 0;
  Session whole(once, 1, nullptr, 1, false), parts(cut, 1, nullptr, 1, false);
  const auto named = [&](const std::string& name) {
    const auto& values = parts.program.graph->values();
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].name == name) return ValueId(i);
    ADD_FAILURE() << name;
    return no_value;
  };
  // Ten rows in chunks of four: three chunks have logits, five have not.
  for (const char* name : {"logits.train.2", "logits.train.3"}) *parts.executor->data(named(name)) = NAN;
  const float loss = step(parts);
  EXPECT_NEAR(loss, std::log(41.f), 0.3);
  EXPECT_NEAR(loss, step(whole), 1e-6);
  EXPECT_FALSE(std::isnan(*parts.executor->data(named("logits.train.2"))));
  EXPECT_TRUE(std::isnan(*parts.executor->data(named("logits.train.3"))));
  for (size_t i = 0; i < parts.program.gradients.size(); ++i) {
    const auto a = whole.values(whole.program.gradients[i]), b = parts.values(parts.program.gradients[i]);
    for (size_t e = 0; e < a.size(); ++e) ASSERT_NEAR(a[e], b[e], 1e-6) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Packed, testing::Values("gpt2", "llama"));

}  // namespace
}  // namespace plimsoll
