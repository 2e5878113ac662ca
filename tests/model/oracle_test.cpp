// Complete training runs compared with those stored by PyTorch in double precision (tests/oracle): the same
// weights and tokens must give the same losses, gradients, norms and final weights, regardless of kernels,
// threads and micro-batches.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.hpp"
#include "model/session.hpp"

namespace plimsoll {
namespace {
using nlohmann::json;
using testing_support::Session;

constexpr double loss_tolerance = 1e-5, gradient_tolerance = 1e-4, norm_tolerance = 1e-5;
// Adam divides a gradient by its own size, so an element whose gradient is nearly zero turns rounding into
// movement. Twenty steps move weights by some percent of the largest; single precision leaves about 1e-4 of
// it.
constexpr double weight_tolerance = 5e-4;

std::string data_path(const std::string& file) { return PLIMSOLL_SOURCE_DIR "/tests/oracle/data/" + file; }

json read_case(const std::string& name) {
  std::ifstream file(data_path(name + "/case.json"));
  if (!file) fail("{} is missing", data_path(name + "/case.json"));
  return json::parse(file);
}

ProgramOptions options_for(const json& stored, int64_t batch, int accumulate) {
  const json &model = stored.at("model"), &optimizer = stored.at("optimizer");
  const bool tied = model.at("tied");
  ProgramOptions o;
  o.model = {.layers = model.at("layers"),
             .heads = model.at("heads"),
             .dim = model.at("dim"),
             .ff = model.at("ff"),
             .context = model.at("context"),
             .vocab = model.at("vocab"),
             .tied = tied,
             .head_bias = !tied};
  o.batch = batch;
  o.accumulate = accumulate;
  o.adamw = {optimizer.at("beta1"), optimizer.at("beta2"), optimizer.at("eps"), optimizer.at("weight_decay")};
  o.clip = stored.at("clip").is_null() ? 0.f : stored.at("clip").get<float>();
  o.generate = false;
  o.keep_gradients = true;
  return o;
}

// All rows of a step one after the other: how they are cut into micro-batches is the run's affair.
std::vector<int32_t> tokens_of(const json& micro_batches) {
  std::vector<int32_t> tokens;
  for (const json& micro : micro_batches)
    for (const json& row : micro)
      for (const json& token : row) tokens.push_back(token);
  return tokens;
}

// A stored file of all parameters, in the model's order. Names and shapes must match or the reader throws.
std::vector<std::vector<float>> read_parameters(const Program& program, const std::string& file) {
  std::vector<std::vector<float>> values;
  std::vector<TensorSlot> slots;
  for (const Parameter& p : program.model->parameters()) {
    const Value& value = (*program.graph)[p.id];
    std::vector<int64_t> shape;
    for (int i = 0; i < value.type.shape.rank(); ++i) shape.push_back(value.type.shape[i]);
    values.emplace_back(static_cast<size_t>(value.type.elements()));
    slots.push_back({value.name, shape, values.back().data()});
  }
  load_safetensors(data_path(file), slots);
  return values;
}

// The largest difference over the tensor's largest magnitude. An element is a sum of terms of the tensor's
// scale which may cancel, and rounding leaves an error of that scale in it however small the sum is: relative
// to the element alone even exact mathematics in single precision would be far off. Unlike a Euclidean norm
// it still sees one wrong element.
double distance(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double top = 0, difference = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (!std::isfinite(ours[i])) return INFINITY;
    top = std::max(top, std::abs(double(theirs[i])));
    difference = std::max(difference, std::abs(double(ours[i]) - theirs[i]));
  }
  return difference / top;
}

// Softmax does not see a shift of the keys, so the middle third of this bias has a gradient of zero but for
// rounding, which Adam turns into full steps: its final values mean nothing.
void drop_key_bias(const std::string& name, std::vector<float>& values) {
  if (!name.ends_with("c_attn.bias")) return;
  const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
  values.erase(values.begin() + third, values.begin() + 2 * third);
}

// The worst distances of one run, for the record of the test.
struct Worst {
  double loss = 0, gradient = 0, norm = 0, weight = 0;
};

void compare_run(const json& stored, const ProgramOptions& options, int threads, const kernels::Table& table,
                 Worst& worst) {
  Session s(options, threads, &table);
  const auto& parameters = s.program.model->parameters();
  const Graph& graph = *s.program.graph;
  const auto initial = read_parameters(s.program, stored.at("files").at("initial"));
  for (size_t i = 0; i < parameters.size(); ++i)
    std::copy(initial[i].begin(), initial[i].end(), s.executor->data(parameters[i].id));

  const int64_t per_micro = graph[s.program.tokens].type.elements();
  const float lr = stored.at("optimizer").at("lr");
  for (size_t step = 0; step < stored.at("steps").get<size_t>(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step + 1));
    const auto tokens = tokens_of(stored.at("tokens")[step]);
    ASSERT_EQ(static_cast<int64_t>(tokens.size()), per_micro * options.accumulate);
    s.executor->run(s.program.train, Moment{.step = step, .learning_rate = lr}, [&](int micro, int lane) {
      std::copy_n(tokens.data() + micro * per_micro, per_micro, s.executor->tokens(s.program.tokens, lane));
    });
    const double loss = *s.executor->data(s.program.loss), wanted = stored.at("losses")[step];
    EXPECT_NEAR(loss, wanted, loss_tolerance);
    worst.loss = std::max(worst.loss, std::abs(loss - wanted));

    double squares = 0;
    for (ValueId id : s.program.gradients)
      for (float g : s.values(id)) squares += double(g) * g;
    const double norm = stored.at("gradient_norms")[step], scale = stored.at("clip_scales")[step];
    EXPECT_NEAR(std::sqrt(squares), norm, norm_tolerance * norm);
    worst.norm = std::max(worst.norm, std::abs(std::sqrt(squares) - norm) / norm);
    if (options.clip > 0) {
      const float* clip = s.executor->data(s.program.clip);
      EXPECT_NEAR(clip[0], scale, norm_tolerance * scale);
      EXPECT_NEAR(clip[1], norm, norm_tolerance * norm);
    }

    const json& files = stored.at("files").at("gradients");
    const auto file = files.find(std::to_string(step + 1));
    if (file == files.end()) continue;
    const auto gradients = read_parameters(s.program, *file);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const double d = distance(s.values(s.program.gradients[i]), gradients[i]);
      EXPECT_LE(d, gradient_tolerance) << "gradient of " << graph[parameters[i].id].name;
      worst.gradient = std::max(worst.gradient, d);
    }
  }
  auto final = read_parameters(s.program, stored.at("files").at("final"));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = graph[parameters[i].id].name;
    auto ours = s.values(parameters[i].id);
    drop_key_bias(name, ours);
    drop_key_bias(name, final[i]);
    const double d = distance(ours, final[i]);
    EXPECT_LE(d, weight_tolerance) << "final " << name;
    worst.weight = std::max(worst.weight, d);
  }
}

class Oracle : public testing::TestWithParam<const char*> {};

TEST_P(Oracle, AgreesWithPyTorch) {
  const json stored = read_case(GetParam());
  const int64_t batch = stored.at("batch");
  const int accumulate = stored.at("accumulate");
  struct Cut {
    int64_t batch;
    int accumulate;
  };
  std::vector<Cut> cuts = {{batch, accumulate}};  // as PyTorch did it, and all rows at once
  if (accumulate > 1) cuts.push_back({batch * accumulate, 1});
  Worst worst;
  for (const kernels::Table* table : kernels::available())
    for (int threads : {1, 2})
      for (const Cut& cut : cuts) {
        // Plain loops are slow: of four ways they take two, which differ in both threads and cut.
        const bool plain = table == &kernels::reference_table;
        if (plain && cuts.size() > 1 && (threads == 1) != (cut.accumulate > 1)) continue;
        SCOPED_TRACE(fmt::format("{} kernels, {} threads, {} micro-batches of {}", table->name, threads,
                                 cut.accumulate, cut.batch));
        compare_run(stored, options_for(stored, cut.batch, cut.accumulate), threads, *table, worst);
        if (HasFatalFailure()) return;
      }
  for (auto [name, value] : {std::pair("worst_loss", worst.loss),
                             {"worst_gradient", worst.gradient},
                             {"worst_norm", worst.norm},
                             {"worst_weight", worst.weight}})
    RecordProperty(name, fmt::format("{:.1e}", value));
  fmt::print("{}: worst loss {:.1e}, gradient {:.1e}, norm {:.1e}, final weight {:.1e}\n", GetParam(),
             worst.loss, worst.gradient, worst.norm, worst.weight);
}

TEST(KeptGradients, ChangeNoBitOfTheRun) {
  const json stored = read_case("accumulated");
  ProgramOptions options = options_for(stored, stored.at("batch"), stored.at("accumulate"));
  Session keeping(options);
  options.keep_gradients = false;
  Session transient(options);
  EXPECT_EQ(find_overlap(*keeping.program.graph, keeping.plan), "");
  for (uint64_t step = 0; step < 4; ++step) EXPECT_EQ(keeping.step(step), transient.step(step));
}

INSTANTIATE_TEST_SUITE_P(Stored, Oracle,
                         testing::Values("tied", "untied", "accumulated", "accumulated-unclipped"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace plimsoll
