#include "train/budget.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "graph/plan.hpp"
#include "kernels/table.hpp"
#include "train/runtime.hpp"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

// Best of a few repetitions: what the machine does when nothing is in the way.
template <typename Body>
double best_seconds(Body body) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

std::vector<int> divisors(int n) {
  std::vector<int> out;
  for (int d = n; d >= 1; --d)
    if (n % d == 0) out.push_back(d);
  return out;
}

Settings with(Settings settings, const Way& way) {
  apply(way, settings);
  return settings;
}

// Work a second of one thread. Packing the weight costs as much as some ten rows of the product.
double rate_of(const Op& op, std::span<const Type> out, const Speed& speed) {
  switch (op.cost()) {
    case Cost::product:
      return speed.products / (1 + 12 / double(out[0].shape[0]));
    case Cost::attention:
      return speed.products / 1.3;
    case Cost::exchange:  // what lanes cost is in the factor of the whole step
      return std::numeric_limits<double>::infinity();
    case Cost::function:
    case Cost::memory:
      break;
  }
  return speed.others;
}

// A way with its bytes and predicted time filled in.
Way measured(Way way, const Settings& settings, int vocab, int threads, const Speed& speed, Effort effort) {
  const PlannedRun run = plan_run(with(settings, way), vocab, threads, way.staging, effort);
  way.plan_bytes = run.plan.total;
  const Graph& graph = *run.program.graph;
  const List& list = graph.lists()[static_cast<size_t>(run.program.train)];
  double seconds = 0;
  for (size_t n = 0; n < list.nodes().size(); ++n) {
    const Node& node = list.nodes()[n];
    std::vector<Type> in, out;
    for (ValueId id : node.in) in.push_back(graph[id].type);
    for (ValueId id : node.out) out.push_back(graph[id].type);
    seconds +=
        node.op->work(in, out) / rate_of(*node.op, out, speed) * (n < list.loop_end ? list.repeats : 1);
  }
  // Threads that meet at every node wait for each other at every node.
  way.seconds = seconds / threads / (way.lanes > 1 ? 0.97 : 0.93);
  return way;
}

}  // namespace

Speed measure_speed(const std::string& isa) {
  const kernels::Table& table = kernels::table_of(isa);
  constexpr int64_t m = 128, n = 256, k = 128;
  std::vector<float> a(m * k, .5f), b(k * n, .25f), c(m * n), scratch(kernels::gemm_scratch_floats);
  const double product = best_seconds([&] {
    table.gemm({.m = m,
                .n = n,
                .k = k,
                .a = a.data(),
                .a_row = k,
                .b = b.data(),
                .b_row = n,
                .c = c.data(),
                .c_row = n},
               scratch.data());
  });
  const double gelu = best_seconds([&] { table.gelu({m * n, c.data(), c.data()}); });
  return {2. * m * n * k / product, 30. * m * n / gelu};
}

std::string Way::text() const {
  return fmt::format("micro-batch {}{}, recompute {}{}{}", micro_batch,
                     lanes > 1 ? fmt::format(" in {} lanes", lanes) : "", recompute_text(recompute),
                     loss_rows ? fmt::format(", {} rows of logits at a time", loss_rows) : "",
                     staging ? ", checkpoints in the background" : "");
}

uint64_t process_overhead(uint64_t now) {
  constexpr uint64_t step = 4 << 20;
  // Measured after the plan is mapped: the record's heap (4 MiB), stacks, code that runs for the first time.
  constexpr uint64_t later = 7 << 20;
  return std::max<uint64_t>(16 << 20, (now + later + step - 1) / step * step);
}

void apply(const Way& way, Settings& settings) {
  settings.micro_batch = way.micro_batch;
  settings.lanes = way.lanes;
  settings.recompute = recompute_text(way.recompute);
  settings.loss_rows = way.loss_rows;
}

Way unconstrained(const Settings& settings, int vocab, int threads, const Speed& speed) {
  const ProgramOptions options = program_options(settings, vocab);
  Way way;
  way.micro_batch = static_cast<int>(options.batch);
  way.lanes = options.lanes;
  way.recompute = {options.recompute, options.recompute_blocks};
  way.loss_rows = settings.loss_rows;
  way.staging = saves_in_background(options);
  return measured(way, settings, vocab, threads, speed, Effort::full);
}

Way smallest(const Settings& settings, int vocab, int threads, const Speed& speed) {
  Way least;
  least.plan_bytes = UINT64_MAX;
  // Rows of logits trade against nothing else, so a few are tried; fewer windows never need more memory.
  for (int rows : {8, 32})
    for (RecomputeChoice recompute :
         {RecomputeChoice{Recompute::cheap, 0}, RecomputeChoice{Recompute::blocks, settings.layers}}) {
      const Way way =
          measured({.micro_batch = 1, .recompute = recompute, .loss_rows = rows, .staging = false}, settings,
                   vocab, threads, speed, Effort::full);
      if (way.plan_bytes < least.plan_bytes) least = way;
    }
  return least;
}

std::vector<Way> ways(const Settings& settings, int vocab, int threads, const Speed& speed) {
  const ProgramOptions options = program_options(settings, vocab);
  std::vector<RecomputeChoice> recomputes = {{Recompute::nothing, 0}, {Recompute::cheap, 0}};
  for (int quarter = 1; quarter <= 4; ++quarter) {
    const int blocks = (settings.layers * quarter + 3) / 4;
    if (recomputes.back().blocks != blocks) recomputes.push_back({Recompute::blocks, blocks});
  }
  const int64_t tokens = options.batch * options.model.context;
  std::vector<Way> found;
  for (int micro : divisors(settings.batch)) {
    if (micro > options.batch) continue;
    const int several =
        fast_lanes(settings.accumulate * settings.batch / micro, parameters(settings, vocab), threads);
    for (const RecomputeChoice& recompute : recomputes)
      for (int rows : {0, 64, 8}) {
        if (rows && (tokens <= rows || vocab < settings.dim)) continue;  // logits are no burden
        for (int lanes : several > 1 ? std::vector{several, 1} : std::vector{1})
          for (bool staging : {true, false}) {
            if (staging && !saves_in_background(options)) continue;
            found.push_back(measured({.micro_batch = micro,
                                      .lanes = lanes,
                                      .recompute = recompute,
                                      .loss_rows = rows,
                                      .staging = staging},
                                     settings, vocab, threads, speed, Effort::quick));
          }
      }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  return found;
}

Way choose(const Settings& settings, int vocab, int threads, uint64_t budget, uint64_t overhead,
           const Speed& speed) {
  const uint64_t bytes = budget > overhead ? budget - overhead : 0;
  const Way free = unconstrained(settings, vocab, threads, speed);
  if (free.plan_bytes <= bytes) return free;
  const Way least = smallest(settings, vocab, threads, speed);
  if (least.plan_bytes > bytes)
    fail_input(
        "--memory {} is below what this run needs: {} bytes at least ({} planned with {}, {} for the process "
        "itself); give "
        "--memory {} or a smaller --dim, --layers or --context",
        format_bytes(budget), least.plan_bytes + overhead, format_bytes(least.plan_bytes), least.text(),
        format_bytes(overhead), least.plan_bytes + overhead);
  for (const Way& way : ways(settings, vocab, threads, speed)) {
    if (way.plan_bytes <= bytes) return measured(way, settings, vocab, threads, speed, Effort::full);
  }
  return least;
}

}  // namespace plimsoll
