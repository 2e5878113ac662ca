#include "graph/executor.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

// Below this much work a part costs more to hand over than to run (a few microseconds of a core).
constexpr double work_per_part = 4e5;
// Between two questions for an interrupt: a few milliseconds of a core, so that asking costs nothing.
constexpr double work_per_question = 1e8;

}  // namespace

int parts_for(const Op& op, std::span<const Type> in, std::span<const Type> out, int threads) {
  if (threads == 1) return 1;
  const double worth = op.work(in, out) / work_per_part;
  const int64_t possible = op.parts_among(threads, in, out);
  // Two parts a thread even out a thread that was put aside for a while.
  const int64_t parts = std::min<int64_t>({possible, static_cast<int64_t>(worth), 2 * threads});
  return static_cast<int>(std::max<int64_t>(1, parts));
}

Executor::Executor(const Graph& graph, const Plan& plan, Pool& pool, std::byte* memory, Options options)
    : kernels_(options.kernels ? options.kernels : &kernels::best()),
      graph_(&graph),
      places_(plan.at.data()),
      scratch_offset_(plan.scratch_offset),
      scratch_per_thread_(plan.scratch_per_thread),
      pool_(&pool),
      source_(options.source),
      memory_(memory) {
  for (const List& list : graph.lists()) {
    Bound& bound = lists_.emplace_back();
    bound.repeats = list.repeats;
    bound.lanes = list.lanes;
    bound.leaves = list.leaves();
    bound.loop_end = list.loop_end;
    bound.rest = list.nodes().size() - list.loop_end;
    // A lane is one thread's: its nodes stay whole.
    const int threads_in_loop = list.lanes > 1 ? 1 : pool.threads();
    for (size_t n = 0; n < list.nodes().size(); ++n)
      bind(bound, graph, list.nodes()[n], 0, n < list.loop_end ? threads_in_loop : pool.threads(), options);
    for (int leaf = 1; leaf < list.leaves().count; ++leaf)
      for (size_t n = 0; n < list.loop_end; ++n)
        bind(bound, graph, list.nodes()[n], leaf, threads_in_loop, options);
    for (int leaf = 0; leaf < list.leaves().count; ++leaf) {
      const auto loop = bound.steps.begin() + std::ptrdiff_t(bound.loop_of(leaf));
      const auto first = std::find_if(loop, loop + std::ptrdiff_t(bound.loop_end),
                                      [](const Step& step) { return step.op->commits(); });
      if (first == loop + std::ptrdiff_t(bound.loop_end)) break;
      if (list.lanes > 1) fail("[executor] {} commits in a loop of several lanes", first->op->name());
      first->commits = bound.commits = true;
    }
    if (list.lanes > 1) join_small(bound);
  }
}

void Executor::bind(Bound& bound, const Graph& graph, const Node& node, int leaf, int threads,
                    const Options& options) {
  const size_t inputs = node.in.size(), outputs = node.out.size();
  auto& operands = bound.operands.emplace_back(std::make_unique<Operand[]>(inputs + outputs));
  std::vector<Type> types;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const ValueId id = i < inputs ? node.in[i] : node.out[i - inputs];
    const Value& value = graph[id];
    operands[i] = {bytes(id, leaf), value.type, value.row_stride(),
                   places_[static_cast<size_t>(id)].lane_stride};
    types.push_back(value.type);
  }
  Step step{};
  step.op = node.op.get();
  step.operands = inputs + outputs;
  step.frame = {.inputs = operands.get(),
                .outputs = operands.get() + inputs,
                .input_count = inputs,
                .scratch = nullptr,
                .now = nullptr,
                .kernels = kernels_,
                .gemm = options.gemm ? options.gemm : kernels_->gemm,
                .leaves = bound.leaves};
  const std::span<const Type> in(types.data(), inputs), out(types.data() + inputs, outputs);
  if (node.when.count != no_value) {
    step.count = reinterpret_cast<const int32_t*>(bytes(node.when.count, leaf));
    step.above = node.when.above;
  }
  step.parts = parts_for(*node.op, in, out, threads);
  step.asks = unasked_work_ >= work_per_question;
  if (step.asks) unasked_work_ = 0;
  unasked_work_ += node.op->work(in, out);
  bound.steps.push_back(step);
}

// Whether one of the two writes bytes that the other reads or writes.
bool Executor::meet(const Step& a, const Step& b) {
  const auto end = [](const Operand& o) {
    const int64_t columns = o.type.shape[o.type.shape.rank() - 1], rows = o.type.elements() / columns;
    return o.data + ((rows - 1) * o.row + columns) * int64_t(size_of(o.type.dtype));
  };
  for (size_t i = 0; i < a.operands; ++i)
    for (size_t j = 0; j < b.operands; ++j) {
      const Operand &x = a.frame.inputs[i], &y = b.frame.inputs[j];
      const bool written = i >= a.frame.input_count || j >= b.frame.input_count;
      if (written && x.data < end(y) && y.data < end(x)) return true;
    }
  return false;
}

// Lets nodes after the loop that are too small to be cut, such as updates, run side by side. Only where lanes have left every
// thread with its share of the gradients: elsewhere fetching them from another core's cache costs more than is won.
void Executor::join_small(Bound& bound) {
  const size_t end = bound.loop_end + bound.rest;
  const auto alone = [](const Step& step) {
    return step.parts > 1 || step.asks || step.count || step.op->cost() == Cost::exchange ||
           step.op->commits() || step.op->fetches();
  };
  for (size_t first = bound.loop_end; first < end;) {
    size_t last = first + 1;
    while (!alone(bound.steps[first]) && last < end && !alone(bound.steps[last]) &&
           std::none_of(&bound.steps[first], &bound.steps[last],
                        [&](const Step& before) { return meet(before, bound.steps[last]); }))
      ++last;
    bound.steps[first].together = static_cast<int>(last - first);
    first = last;
  }
}

bool Executor::replay(const Bound& bound, size_t begin, size_t end, const Moment& now, Interrupt interrupt,
                      Interrupt leave) {
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
  const Pool::Job one_of = [](const void* opaque, int number, int slot) {
    const auto& c = *static_cast<const Context*>(opaque);
    Frame frame = c.step[number].frame;
    frame.scratch = c.executor->scratch(slot);
    frame.now = c.now;
    c.step[number].op->run(frame, 0, 1);
  };
  for (size_t i = begin; i < end; ++i) {
    context.step = &bound.steps[i];
    if (context.step->asks && interrupt()) return false;
    if (context.step->commits && now.last) {
      if (leave()) return false;
      interrupt = {};
    }
    if (!context.step->runs()) continue;
    if (const int together = context.step->together; together > 1) {
      pool_->run(one_of, &context, together);
      i += static_cast<size_t>(together) - 1;
    } else {
      pool_->run(job, &context, context.step->parts);
    }
  }
  return true;
}

// Each lane takes one of the leaves from `first` on through the loop on its own; the only meeting point is the end.
bool Executor::replay_lanes(const Bound& bound, int first, int lanes, const Moment& now,
                            Interrupt interrupt) {
  struct Context {
    const Executor* executor;
    const Bound* bound;
    int first;
    const Moment* now;
    Interrupt interrupt;
    std::atomic<bool>* leaving;
  };
  std::atomic<bool> leaving{false};
  const Context context{this, &bound, first, &now, interrupt, &leaving};
  const Pool::Job job = [](const void* opaque, int lane, int slot) {
    const auto& c = *static_cast<const Context*>(opaque);
    Moment moment = *c.now;
    moment.micro += lane;
    const size_t begin = c.bound->loop_of(c.first + lane);
    for (size_t i = begin; i < begin + c.bound->loop_end; ++i) {
      if (c.bound->steps[i].asks) {
        if (slot == 0 && c.interrupt()) c.leaving->store(true, std::memory_order_relaxed);
        if (c.leaving->load(std::memory_order_relaxed)) return;
      }
      if (!c.bound->steps[i].runs()) continue;
      Frame frame = c.bound->steps[i].frame;
      frame.scratch = c.executor->scratch(slot);
      frame.now = &moment;
      c.bound->steps[i].op->run(frame, 0, 1);
    }
  };
  pool_->run(job, &context, lanes);
  return !leaving.load(std::memory_order_relaxed);
}

void Executor::check(ValueId id, DType dtype) const {
  const Value& value = (*graph_)[id];
  if (value.type.dtype != dtype)
    fail("[executor] {} is {}, not {}", value.name, value.type.text(), name_of(dtype));
}

}  // namespace plimsoll
