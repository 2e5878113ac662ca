#include "graph/executor.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

// Below this much work a part costs more to hand over than to run (a few microseconds of a core).
constexpr double work_per_part = 4e5;

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
    : places_(plan.at.data()),
      scratch_offset_(plan.scratch_offset),
      scratch_per_thread_(plan.scratch_per_thread),
      pool_(&pool),
      memory_(memory) {
  const kernels::Table& table = options.kernels ? *options.kernels : kernels::best();
  for (const List& list : graph.lists()) {
    Bound& bound = lists_.emplace_back();
    bound.repeats = list.repeats;
    bound.loop_end = list.loop_end;
    for (const Node& node : list.nodes()) {
      const size_t inputs = node.in.size(), outputs = node.out.size();
      auto& pointers = bound.pointers.emplace_back(std::make_unique<float*[]>(inputs + outputs));
      auto& types = bound.types.emplace_back(std::make_unique<Type[]>(inputs + outputs));
      for (size_t i = 0; i < inputs + outputs; ++i) {
        const ValueId id = i < inputs ? node.in[i] : node.out[i - inputs];
        pointers[i] = data(id);
        types[i] = graph[id].type;
      }
      Step step{};
      step.op = node.op.get();
      step.frame = {pointers.get(), pointers.get() + inputs,
                    types.get(),    types.get() + inputs,
                    nullptr,        nullptr,
                    &table,         options.gemm ? options.gemm : table.gemm};
      step.parts =
          parts_for(*node.op, {types.get(), inputs}, {types.get() + inputs, outputs}, pool.threads());
      bound.steps.push_back(step);
    }
  }
}

void Executor::replay(const Bound& bound, size_t begin, size_t end, const Moment& now) {
  struct Context {
    const Step* step;
    const Moment* now;
    std::byte* scratch;
    uint64_t scratch_per_thread;
  };
  Context context{nullptr, &now, memory_ + scratch_offset_, scratch_per_thread_};
  const Pool::Job job = [](const void* opaque, int part, int slot) {
    const auto& c = *static_cast<const Context*>(opaque);
    Frame frame = c.step->frame;
    frame.scratch = reinterpret_cast<float*>(c.scratch + c.scratch_per_thread * static_cast<uint64_t>(slot));
    frame.now = c.now;
    c.step->op->run(frame, part, c.step->parts);
  };
  for (size_t i = begin; i < end; ++i) {
    context.step = &bound.steps[i];
    pool_->run(job, &context, context.step->parts);
  }
}

}  // namespace plimsoll
