#include "graph/executor.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

// Below this much work a part costs more to hand over than to run (a few microseconds of a core).
constexpr double work_per_part = 4e5;
// Between two questions for an interrupt: a few milliseconds of a core, so that asking costs nothing.
constexpr double work_per_question = 1e8;

int parts_for(const Op& op, std::span<const Type> in, std::span<const Type> out, int threads) {
  if (threads == 1) return 1;
  const double worth = op.work(in, out) / work_per_part;
  const int64_t possible = op.parts(in, out);
  // Two parts a thread even out a thread that was put aside for a while.
  const int64_t parts = std::min<int64_t>({possible, static_cast<int64_t>(worth), 2 * threads});
  return static_cast<int>(std::max<int64_t>(1, parts));
}

}  // namespace

Executor::Executor(const Graph& graph, const Plan& plan, Pool& pool, std::byte* memory, Options options)
    : kernels_(options.kernels ? options.kernels : &kernels::best()),
      places_(plan.at.data()),
      scratch_offset_(plan.scratch_offset),
      scratch_per_thread_(plan.scratch_per_thread),
      pool_(&pool),
      memory_(memory) {
  for (const List& list : graph.lists()) {
    const Handed& handed = plan.handed[lists_.size()];
    Bound& bound = lists_.emplace_back();
    bound.repeats = list.repeats;
    bound.lanes = list.lanes;
    bound.loop_end = list.loop_end;
    bound.rest = list.nodes().size() - list.loop_end;
    bound.handed = handed;
    // A lane is one thread's: its nodes stay whole.
    for (size_t n = 0; n < list.nodes().size(); ++n)
      bind(bound, graph, list.nodes()[n], 0, n < list.loop_end && list.lanes > 1 ? 1 : pool.threads(),
           options);
    for (int lane = 1; lane < list.lanes; ++lane)
      for (size_t n = 0; n < list.loop_end; ++n) bind(bound, graph, list.nodes()[n], lane, 1, options);
  }
}

void Executor::bind(Bound& bound, const Graph& graph, const Node& node, int lane, int threads,
                    const Options& options) {
  const size_t inputs = node.in.size(), outputs = node.out.size();
  auto& pointers = bound.pointers.emplace_back(std::make_unique<float*[]>(inputs + outputs));
  auto& types = bound.types.emplace_back(std::make_unique<Type[]>(inputs + outputs));
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const ValueId id = i < inputs ? node.in[i] : node.out[i - inputs];
    pointers[i] = data(id, lane);
    types[i] = graph[id].type;
  }
  Step step{};
  step.op = node.op.get();
  step.frame = {pointers.get(), pointers.get() + inputs,
                types.get(),    types.get() + inputs,
                nullptr,        nullptr,
                kernels_,       options.gemm ? options.gemm : kernels_->gemm};
  step.parts = parts_for(*node.op, {types.get(), inputs}, {types.get() + inputs, outputs}, threads);
  step.asks = unasked_work_ >= work_per_question;
  if (step.asks) unasked_work_ = 0;
  unasked_work_ += node.op->work({types.get(), inputs}, {types.get() + inputs, outputs});
  bound.steps.push_back(step);
}

bool Executor::replay(const Bound& bound, size_t begin, size_t end, const Moment& now, Interrupt interrupt) {
  struct Context {
    const Executor* executor;
    const Step* step;
    const Moment* now;
  };
  Context context{this, nullptr, &now};
  const Pool::Job job = [](const void* opaque, int part, int slot) {
    const auto& c = *static_cast<const Context*>(opaque);
    Frame frame = c.step->frame;
    frame.scratch = c.executor->scratch(slot);
    frame.now = c.now;
    c.step->op->run(frame, part, c.step->parts);
  };
  for (size_t i = begin; i < end; ++i) {
    context.step = &bound.steps[i];
    if (context.step->asks && interrupt()) return false;
    pool_->run(job, &context, context.step->parts);
  }
  return true;
}

// Each lane goes through the loop on its own; the only meeting point is the end.
bool Executor::replay_lanes(const Bound& bound, int lanes, const Moment& now, Interrupt interrupt) {
  struct Context {
    const Executor* executor;
    const Bound* bound;
    const Moment* now;
    Interrupt interrupt;
    std::atomic<bool>* leaving;
  };
  std::atomic<bool> leaving{false};
  const Context context{this, &bound, &now, interrupt, &leaving};
  const Pool::Job job = [](const void* opaque, int lane, int slot) {
    const auto& c = *static_cast<const Context*>(opaque);
    Moment moment = *c.now;
    moment.micro += lane;
    const size_t first = lane == 0 ? 0 : c.bound->rest + c.bound->loop_end * static_cast<size_t>(lane);
    for (size_t i = first; i < first + c.bound->loop_end; ++i) {
      if (c.bound->steps[i].asks) {
        if (slot == 0 && c.interrupt()) c.leaving->store(true, std::memory_order_relaxed);
        if (c.leaving->load(std::memory_order_relaxed)) return;
      }
      Frame frame = c.bound->steps[i].frame;
      frame.scratch = c.executor->scratch(slot);
      frame.now = &moment;
      c.bound->steps[i].op->run(frame, 0, 1);
    }
  };
  pool_->run(job, &context, lanes);
  return !leaving.load(std::memory_order_relaxed);
}

// In the order of the lanes, element by element: the sum does not depend on who ran what.
void Executor::add_lanes(const Bound& bound) {
  struct Context {
    const Executor* executor;
    const Bound* bound;
    int parts;
  };
  constexpr int64_t grain = 4096;
  const auto count = static_cast<int64_t>(bound.handed.bytes / sizeof(float));
  const Context context{this, &bound,
                        static_cast<int>(std::clamp<int64_t>(count / grain, 1, 2 * pool_->threads()))};
  const Pool::Job job = [](const void* opaque, int part, int) {
    const auto& c = *static_cast<const Context*>(opaque);
    const Handed& handed = c.bound->handed;
    auto* first = reinterpret_cast<float*>(c.executor->memory_ + handed.offset);
    const auto floats = static_cast<int64_t>(handed.bytes / sizeof(float));
    const Range range = split(floats, part, c.parts, grain);
    for (int lane = 1; lane < c.bound->lanes; ++lane)
      c.executor->kernels_->add({range.end - range.begin, first + range.begin,
                                 first + lane * floats + range.begin, first + range.begin});
  };
  pool_->run(job, &context, context.parts);
}

}  // namespace plimsoll
