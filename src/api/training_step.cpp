#include <cstring>
#include <plimsoll/training_step.hpp>

#include "base/error.hpp"
#include "train/runtime.hpp"

namespace plimsoll {
namespace {

ProgramOptions program_of(const TrainingStepOptions& o) {
  for (const int size : {o.layers, o.heads, o.dim, o.context, o.vocabulary, o.batch, o.threads})
    if (size < 1) fail_input("[TrainingStep] every size must be at least 1, and one is {}", size);
  if (o.dim % o.heads != 0) fail_input("[TrainingStep] dim {} is not a multiple of {} heads", o.dim, o.heads);
  if (o.feed_forward < 0) fail_input("[TrainingStep] feed_forward {} is negative", o.feed_forward);
  ProgramOptions options;
  options.model = {.layers = o.layers,
                   .heads = o.heads,
                   .dim = o.dim,
                   .ff = o.feed_forward > 0 ? o.feed_forward : 4 * o.dim,
                   .context = o.context,
                   .vocab = o.vocabulary};
  options.batch = o.batch;
  options.dropout = o.dropout;
  options.adamw = {.beta1 = o.beta1, .beta2 = o.beta2, .weight_decay = o.weight_decay};
  options.clip = o.clip;
  options.generate = false;
  return options;
}

MemoryPlan memory_of(const Plan& plan) {
  MemoryPlan out{
      .bytes = plan.total, .lower_bound = plan.lower_bound, .persistent = plan.persistent, .peak = {}};
  for (int role = 0; role < role_count; ++role)
    if (plan.by_role[size_t(role)]) out.peak.push_back({role_name(Role(role)), plan.by_role[size_t(role)]});
  return out;
}

}  // namespace

MemoryPlan plan_memory(const TrainingStepOptions& options) {
  return memory_of(make_plan(*record(program_of(options)).graph, std::max(1, options.threads)));
}

struct TrainingStep::State {
  explicit State(const TrainingStepOptions& o)
      : options(o),
        runtime(program_of(o), o.threads, kernels::open_backend("native"), false),
        memory(memory_of(runtime.plan())) {
    runtime.initialise(o.seed);
  }
  TrainingStepOptions options;
  Runtime runtime;
  MemoryPlan memory;
  uint64_t steps = 0;
};

TrainingStep::TrainingStep(const TrainingStepOptions& options) : state_(std::make_unique<State>(options)) {}
TrainingStep::~TrainingStep() = default;
TrainingStep::TrainingStep(TrainingStep&&) noexcept = default;
TrainingStep& TrainingStep::operator=(TrainingStep&&) noexcept = default;

const MemoryPlan& TrainingStep::memory() const { return state_->memory; }
uint64_t TrainingStep::parameters() const { return state_->runtime.program().model->count(); }
uint64_t TrainingStep::steps() const { return state_->steps; }

float TrainingStep::run(std::span<const int32_t> windows, float learning_rate) {
  State& s = *state_;
  const size_t wanted = size_t(s.options.batch) * size_t(s.options.context + 1);
  if (windows.size() != wanted)
    fail_input("[TrainingStep] {} tokens were given; {} windows of {} + 1 tokens are {}", windows.size(),
               s.options.batch, s.options.context, wanted);
  for (const int32_t token : windows)
    if (token < 0 || token >= s.options.vocabulary)
      fail_input("[TrainingStep] token {} is not in 0..{}", token, s.options.vocabulary - 1);
  const Program& program = s.runtime.program();
  s.runtime.executor().run(
      program.train, Moment{.step = s.steps, .learning_rate = learning_rate, .seed = s.options.seed},
      [&](int, int lane) {
        std::memcpy(s.runtime.executor().tokens(program.tokens, lane), windows.data(), windows.size_bytes());
      });
  ++s.steps;
  return *s.runtime.executor().data(program.loss);
}

}  // namespace plimsoll
