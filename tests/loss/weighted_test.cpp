// Weights of targets in the loss: the gradient is that of the weighted loss, however the step is split, on
// every instruction set; and weights of 1 change nothing.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "model/session.hpp"

namespace plimsoll {
namespace {
using testing_support::Session;

ProgramOptions model(bool weighted) {
  ProgramOptions o;
  o.model = {.layers = 2, .heads = 2, .dim = 12, .ff = 24, .context = 7, .vocab = 19};
  o.batch = 4;
  o.clip = 1;
  o.weighted = weighted;
  o.keep_gradients = true;
  o.generate = false;
  return o;
}

// Of target `row` of the step, the same whatever the micro-batch; their mean is not 1, as the loss need not know.
float weight(int64_t row) {
  const CounterRng random(7, Stream::windows);
  return row % 5 == 0 ? 0.f : float(2 * random.uniform(uint64_t(row)));
}

struct Step {
  double loss, cross_entropy;
};

Step weighted_step(Session& s, const std::function<float(int64_t)>& weight_of, float lr = 0) {
  const Type type = (*s.program.graph)[s.program.tokens].type;
  const int64_t n = type.elements(), targets = n / type.shape[1] * (type.shape[1] - 1);
  const CounterRng rng(5, Stream::windows);
  s.executor->run(
      s.program.train, Moment{.step = 0, .learning_rate = lr, .seed = 3}, [&](int micro, int lane) {
        for (int64_t i = 0; i < n; ++i)
          s.executor->tokens(s.program.tokens, lane)[i] = int32_t(rng.below(uint64_t(micro * n + i), 19));
        if (s.program.weights != no_value)
          for (int64_t i = 0; i < targets; ++i)
            s.executor->data(s.program.weights, lane)[i] = weight_of(micro * targets + i);
      });
  const bool weighted = s.program.cross_entropy != no_value;
  return {*s.executor->data(s.program.loss), weighted ? *s.executor->data(s.program.cross_entropy) : NAN};
}

double worst(const std::vector<float>& a, const std::vector<float>& b) {
  double top = 1e-30, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    top = std::max(top, std::abs(double(b[i])));
    difference = std::max(difference, std::abs(double(a[i]) - b[i]));
  }
  return difference / top;
}

TEST(WeightedLoss, WeightsOfOneChangeNoBit) {
  Session plain(model(false)), weighted(model(true));
  for (int i = 0; i < 3; ++i) {
    const Step one = weighted_step(
        weighted, [](int64_t) { return 1.f; }, 1e-2f);
    EXPECT_EQ(weighted_step(plain, {}, 1e-2f).loss, one.loss);
    EXPECT_EQ(one.loss, one.cross_entropy);
  }
  for (const Parameter& p : plain.program.model->parameters())
    EXPECT_EQ(plain.values(p.id), weighted.values(p.id));
}

TEST(WeightedLoss, GradientsAreThoseOfTheWeightedLoss) {
  for (const kernels::Table* table : kernels::available()) {
    Session s(model(true), 1, table);
    const auto& parameters = s.program.model->parameters();
    // Wide weights: with those of a fresh model a norm bends so much that differences say little.
    for (const Parameter& parameter : parameters)
      for (int64_t e = 0; parameter.decays() && e < (*s.program.graph)[parameter.id].type.elements(); ++e)
        s.executor->data(parameter.id)[e] *= 20;
    weighted_step(s, weight);
    for (size_t p = 0; p < parameters.size(); ++p) {
      const std::vector<float> gradient = s.values(s.program.gradients[p]);
      double largest = 1e-4;
      for (float g : gradient) largest = std::max(largest, std::abs(double(g)));
      for (size_t e = 0; e < gradient.size(); e += std::max<size_t>(1, gradient.size() / 6)) {
        float& x = s.executor->data(parameters[p].id)[e];
        const float saved = x, h = 1e-2f;
        x = saved + h;
        const double up = weighted_step(s, weight).loss;
        x = saved - h;
        const double down = weighted_step(s, weight).loss;
        x = saved;
        EXPECT_NEAR((up - down) / (2 * h), gradient[e], 2e-2 * largest)
            << table->name << " " << (*s.program.graph)[parameters[p].id].name << " " << e;
      }
    }
  }
}

TEST(WeightedLoss, ATargetOfWeightZeroDoesNotCount) {
  Session s(model(true));
  const Step none = weighted_step(s, [](int64_t) { return 0.f; });
  EXPECT_EQ(none.loss, 0);
  EXPECT_NEAR(none.cross_entropy, std::log(19.), .2);
  for (ValueId gradient : s.program.gradients)
    for (float g : s.values(gradient)) EXPECT_EQ(g, 0);
}

TEST(WeightedLoss, TheCutOfTheStepDoesNotMatter) {
  Session whole(model(true));
  const Step expected = weighted_step(whole, weight);
  EXPECT_GT(std::abs(expected.loss - expected.cross_entropy), .05);
  for (auto change : std::vector<std::function<void(ProgramOptions&)>>{
           [](ProgramOptions& o) { o.batch = 1, o.accumulate = 4; },
           [](ProgramOptions& o) { o.batch = 1, o.accumulate = 4, o.lanes = 2; },
           [](ProgramOptions& o) { o.loss_rows = 5; },
           [](ProgramOptions& o) { o.recompute = Recompute::blocks; },
           [](ProgramOptions& o) {
             o.batch = 2, o.accumulate = 2, o.loss_rows = 3, o.recompute = Recompute::cheap;
           }}) {
    ProgramOptions options = model(true);
    change(options);
    for (const kernels::Table* table : kernels::available()) {
      Session cut(options, 2, table);
      EXPECT_EQ(find_overlap(*cut.program.graph, cut.plan), "");
      const Step step = weighted_step(cut, weight);
      EXPECT_NEAR(step.loss, expected.loss, 1e-5) << table->name;
      EXPECT_NEAR(step.cross_entropy, expected.cross_entropy, 1e-5) << table->name;
      for (size_t i = 0; i < whole.program.gradients.size(); ++i)
        EXPECT_LT(worst(cut.values(cut.program.gradients[i]), whole.values(whole.program.gradients[i])), 1e-4)
            << table->name;
    }
  }
}

}  // namespace
}  // namespace plimsoll
