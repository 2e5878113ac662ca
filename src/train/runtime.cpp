#include "train/runtime.hpp"

#include <sched.h>

#include <cstring>

#include "base/units.hpp"
#include "model/families.hpp"
#include "train/model_spec.hpp"

namespace plimsoll {
namespace {

// Bytes of parameters and both moments.
uint64_t state_bytes(const Program& program) {
  uint64_t bytes = 0;
  for (const Parameter& p : program.model->parameters()) bytes += 3 * (*program.graph)[p.id].type.bytes();
  return bytes;
}

ValueId plan_staging(Program& program, bool wanted) {
  if (!wanted) return no_value;
  const auto floats = static_cast<int64_t>(state_bytes(program) / 4 + 1024);
  return program.graph->value("checkpoint.staging", {{floats}}, Role::scratch, Keep::forever);
}

Mapping mapping_for(uint64_t bytes, const std::function<void(uint64_t)>& fits) {
  if (fits) fits(bytes);
  if (const uint64_t free = machine_memory().available; bytes > free)
    fail_input(
        "this run needs {} and {} are available; draw a line with --memory, or give a smaller --batch or "
        "--dim",
        format_bytes(bytes), format_bytes(free));
  // Huge pages spare the processor's translation tables, but round up to 2 MB: not worth it for small plans.
  Mapping memory(bytes, bytes >= (16u << 20) ? Mapping::Pages::huge : Mapping::Pages::normal);
  memory.touch();
  return memory;
}

}  // namespace

int fast_lanes(int repeats, uint64_t parameters, int threads) {
  constexpr uint64_t most_gradients = 64 << 20;  // bytes of one lane's
  if (parameters * sizeof(float) > most_gradients) return 1;
  // Lanes on fewer threads than there are leave cores idle: then cutting every node is better.
  for (int lanes = threads; lanes > 1 && 4 * lanes >= 3 * threads; --lanes)
    if (repeats % lanes == 0) return lanes;
  return 1;
}

Cut fast_cut(int batch, int accumulate, const ModelSpec& model, int threads) {
  const uint64_t parameters = parameter_count(model);
  // Tokens of one micro-batch: a lane has one core's cache to itself, threads that share nodes have all of them.
  const int64_t in_lanes = 256, together = model.dim <= 512 ? 512 : 1024;
  Cut cut;
  for (int micro = batch; micro >= 1; --micro) {
    if (batch % micro) continue;
    const int lanes = fast_lanes(batch / micro * accumulate, parameters, threads);
    if (lanes > 1 && (micro == 1 || micro * model.context <= in_lanes)) return {micro, lanes};
    if (micro * model.context <= together) cut.micro_batch = std::max(cut.micro_batch, micro);
  }
  return cut;
}

ProgramOptions program_options(const Settings& s, int vocab) {
  ProgramOptions o;
  o.model = model_spec(s, vocab);
  // A step is batch x accumulate windows, computed micro_batch at a time.
  const int threads = thread_count(s);
  const Cut cut = s.micro_batch > 0 ? Cut{s.micro_batch, s.lanes}
                                    : fast_cut(s.batch, s.accumulate, o.model, s.lanes == 1 ? 1 : threads);
  o.batch = cut.micro_batch;
  o.accumulate = s.accumulate * s.batch / static_cast<int>(o.batch);
  o.lanes =
      s.lanes > 0 ? std::min(s.lanes, o.accumulate) : fast_lanes(o.accumulate, parameters(s, vocab), threads);
  o.loss_rows = s.loss_rows;
  if (const auto choice = parse_recompute(s.recompute, s.layers)) {
    o.recompute = choice->how;
    o.recompute_blocks = choice->blocks;
  }
  o.dropout = static_cast<float>(s.dropout);
  o.weighted = s.distrust_lambda > 0;
  o.adamw = {static_cast<float>(s.beta1), static_cast<float>(s.beta2), static_cast<float>(s.epsilon),
             static_cast<float>(s.weight_decay)};
  o.clip = static_cast<float>(s.clip);
  o.evaluate_batch = o.batch;
  return o;
}

int thread_count(const Settings& settings) {
  if (settings.threads > 0) return settings.threads;
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

bool saves_in_background(const ProgramOptions& options) {
  constexpr uint64_t largest_copy = 64 << 20;
  return parameter_count(options.model) * 12 <= largest_copy;
}

PlannedRun plan_run(const Settings& settings, int vocab, int threads, bool staging, Effort effort) {
  PlannedRun run{record(program_options(settings, vocab)), {}};
  plan_staging(run.program, staging);
  run.plan = make_plan(*run.program.graph, threads, effort);
  return run;
}

Runtime::Runtime(const ProgramOptions& options, int threads, const kernels::Backend& gemm, bool staging,
                 const Extras& extras)
    : program(record(options)),
      staging_(plan_staging(program, staging)),
      plan(make_plan(*program.graph, threads)),
      pool_(threads),
      memory_(mapping_for(plan.total, extras.fits)),
      executor(*program.graph, plan, pool_, reinterpret_cast<std::byte*>(memory_.data()),
               {.kernels = gemm.table, .gemm = gemm.run}) {
  constexpr uint64_t least_saving = 1 << 20;
  others_.reserve(extras.smaller.size());
  uint64_t above = plan.total;
  for (const ProgramOptions& way : extras.smaller) {
    if (above < plan.persistent + 2 * least_saving) break;  // all that is left to save is too little
    Program next = record(way);
    plan_staging(next, staging);
    Plan place = make_plan(*next.graph, threads, Effort::quick);
    if (place.total + std::max(least_saving, above / 32) > above) continue;
    for (size_t i = 0; i < next.model->parameters().size(); ++i)
      if (place.at[size_t(next.model->parameters()[i].id)].offset !=
          plan.at[size_t(program.model->parameters()[i].id)].offset)
        fail("[runtime] two plans of the same model keep its parameters at different places");
    if (place.persistent != plan.persistent)
      fail("[runtime] two plans of the same model keep different things for ever");
    above = place.total;
    Executor runs(*next.graph, place, pool_, reinterpret_cast<std::byte*>(memory_.data()),
                  {.kernels = gemm.table, .gemm = gemm.run});
    others_.push_back({std::move(next), std::move(place), std::move(runs)});
  }
}

uint64_t Runtime::plan_bytes(size_t gear) const {
  return gear == gear_ ? plan.total : other(gear).plan.total;
}

int Runtime::micro_batch(size_t gear) const {
  const Program& p = gear == gear_ ? program : other(gear).program;
  return static_cast<int>((*p.graph)[p.tokens].type.shape[0]);
}

void Runtime::shift(size_t gear) {
  const uint64_t before = plan.total;
  while (gear_ != gear) {
    // The one in use changes places with its neighbour, so the rest stays in order.
    Gear& next = others_[gear > gear_ ? gear_ : gear_ - 1];
    std::swap(program, next.program);
    std::swap(plan, next.plan);
    std::swap(executor, next.executor);
    gear_ = gear > gear_ ? gear_ + 1 : gear_ - 1;
  }
  if (resting_) return;
  if (plan.total < before) memory_.release(plan.total, memory_.size() - plan.total);
  if (plan.total > before) memory_.touch(before, plan.total - before);
}

void Runtime::rest() {
  if (!resting_) memory_.release(plan.persistent, memory_.size() - plan.persistent);
  resting_ = true;
}

void Runtime::wake() {
  if (resting_) memory_.touch(plan.persistent, plan.total - plan.persistent);
  resting_ = false;
}

void Runtime::initialise(uint64_t seed) {
  struct Job {
    const Runtime* runtime;
    const Parameter* parameter;
    uint64_t seed;
    int parts;
  };
  for (const Parameter& p : program.model->parameters()) {
    const Job job{this, &p, seed, 2 * pool_.threads()};
    pool_.run(
        [](const void* context, int part, int) {
          const auto& j = *static_cast<const Job*>(context);
          const Range range = split(j.runtime->graph()[j.parameter->id].type.elements(), part, j.parts, 1024);
          plimsoll::initialise(j.runtime->graph(), *j.parameter, j.seed,
                               j.runtime->executor.data(j.parameter->id), range.begin,
                               range.end - range.begin);
        },
        &job, job.parts);
  }
  for (const auto* moments : {&program.first_moment, &program.second_moment})
    for (ValueId id : *moments) std::memset(executor.data(id), 0, graph()[id].type.bytes());
}

namespace {
TensorSlot slot(const Graph& graph, const Executor& executor, ValueId id, const std::string& name) {
  const Shape& shape = graph[id].type.shape;
  TensorSlot out{name, {}, executor.data(id)};
  for (int i = 0; i < shape.rank(); ++i) out.shape.push_back(shape[i]);
  return out;
}
}  // namespace

std::vector<TensorSlot> Runtime::model_slots() const {
  std::vector<TensorSlot> slots;
  for (const Parameter& p : program.model->parameters())
    slots.push_back(slot(graph(), executor, p.id, graph()[p.id].name));
  return slots;
}

std::vector<TensorSlot> Runtime::optimizer_slots() const {
  std::vector<TensorSlot> slots;
  for (const auto* moments : {&program.first_moment, &program.second_moment})
    for (ValueId id : *moments) slots.push_back(slot(graph(), executor, id, graph()[id].name));
  return slots;
}

std::span<std::byte> Runtime::staging() const {
  if (staging_ == no_value) return {};
  return {reinterpret_cast<std::byte*>(executor.data(staging_)), graph()[staging_].type.bytes()};
}

std::vector<TensorView> views(const std::vector<TensorSlot>& slots) {
  std::vector<TensorView> out;
  for (const TensorSlot& s : slots) out.push_back({s.name, s.shape, s.data});
  return out;
}

}  // namespace plimsoll
