#include "train/budget.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "base/units.hpp"
#include "graph/fetch.hpp"
#include "graph/plan.hpp"
#include "graph/pool.hpp"
#include "kernels/table.hpp"
#include "model/families.hpp"
#include "platform/clock.hpp"
#include "platform/memory.hpp"
#include "train/model_spec.hpp"
#include "train/runtime.hpp"

namespace plimsoll {
namespace {

// How fast one thread is.
struct Speed {
  const char* kernels;
  double products;  // floating-point operations a second of matrix products
  double others;    // "work" a second of other nodes
};
// Measured on an AMD EPYC with AVX-512, one core, products of 128 x 128 by 128 x 256 and GELU of as many numbers. Only
// the relation of the two columns matters for choosing; see slowness() for the rest.
constexpr Speed speeds[] = {
    {"avx512", 1.12e11, 6.5e10},
    {"avx2", 1.04e11, 4.5e10},
    {"baseline", 3.67e10, 1.48e10},
    {"reference", 2.5e9, 8.5e9},
};

const Speed& table_speed(const std::string& isa) {
  const std::string_view name = kernels::table_of(isa).name;
  for (const Speed& speed : speeds)
    if (name == speed.kernels) return speed;
  return speeds[2];
}

// A product such as the model has most of, by every thread at once: together they share caches, the memory's bandwidth and
// the processor's clock. What one thread does alone, with operands in its own cache, no step ever reaches.
class Calibration {
 public:
  Calibration(const Settings& settings, int threads)
      : table_(kernels::table_of(settings.isa)),
        m_(std::clamp(settings.context, 128, 512)),
        n_(std::clamp(settings.ff / 2, 256, 512)),
        k_(std::clamp(settings.dim, 128, 2048)),
        half_(!settings.model.empty() && (settings.lora_rank > 0 || settings.train_last > 0)),
        threads_(threads),
        floats_(static_cast<size_t>(m_ * k_ + n_ * k_ + m_ * n_) + kernels::gemm_scratch_floats + 64),
        memory_(size_t(threads) * floats_ * sizeof(float)) {}

  // Seconds of a thread's product over those expected: the processor's, so that what else runs hardly counts, and the best
  // of a few times.
  double measure(double expected_rate) {
    Pool pool(threads_);
    std::vector<double> best(static_cast<size_t>(threads_), 1e9);
    best_ = best.data();
    pool.run([](const void* self, int part, int) { static_cast<const Calibration*>(self)->run(part); }, this,
             threads_);
    double sum = 0;
    for (double seconds : best) sum += seconds;
    return sum / threads_ /
           (2. * double(m_) * double(n_) * double(k_) * (1 + 12 / double(m_)) / expected_rate);
  }

 private:
  void run(int part) const {
    float* a = reinterpret_cast<float*>(memory_.data()) + size_t(part) * floats_;
    float *b = a + m_ * k_, *c = b + n_ * k_, *scratch = c + m_ * n_;
    std::fill(a, b, .5f);
    std::fill(b, c, .25f);  // as bf16 too, half of it .25 and half 0
    kernels::Gemm product{.m = m_, .n = n_, .k = k_, .a = a, .a_row = k_, .b = b, .b_row = 1, .b_col = k_};
    product.b_type = half_ ? DType::bf16 : DType::f32;
    product.c = c, product.c_row = n_;
    ready_.fetch_add(1);
    while (ready_.load() < threads_) std::this_thread::yield();
    for (int i = 0; i < 5; ++i) {
      const double start = platform::processor_seconds();
      table_.gemm(product, scratch);
      best_[part] = std::min(best_[part], platform::processor_seconds() - start);
    }
  }

  const kernels::Table& table_;
  int64_t m_, n_, k_;
  bool half_;
  int threads_;
  size_t floats_;
  Mapping memory_;
  double* best_ = nullptr;
  mutable std::atomic<int> ready_{0};
};

// Copying and checking what is read, seconds of a core for each byte: measured with weights streamed from an SSD.
constexpr double reading_cost = 2.5e-10;

// Bytes a second of a disk, for choosing.
constexpr double usual_disk = 1e9;

std::vector<int> divisors(int n) {
  std::vector<int> out;
  for (int d = n; d >= 1; --d)
    if (n % d == 0) out.push_back(d);
  return out;
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

// Measured: a node and its values take 1.4 kB, and a guarded run keeps smaller ways of itself ready. What process_overhead
// counts has room for the first thousand. Streaming has a buffer of 1 MiB and a thread.
uint64_t heap_of(const Graph& graph, const Settings& settings, const Way& way) {
  constexpr uint64_t bytes_a_node = 1500, nodes_counted = 1000;
  uint64_t nodes = 0;
  for (const List& list : graph.lists()) nodes += list.nodes().size();
  const uint64_t gears = settings.guard == "off" ? 1 : settings.batch == 1 ? 2 : 3;
  return (nodes > nodes_counted ? (nodes - nodes_counted) * bytes_a_node * gears : 0) +
         (way.stream ? uint64_t(2) << 20 : 0);
}

// Micro-batches of a step that are this list's.
int own_repeats(const List& list) {
  const LeafRange leaves = list.leaves();
  int count = 0;
  for (int micro = leaves.first; micro < list.repeats; micro += leaves.all)
    count += std::min(leaves.count, list.repeats - micro);
  return count;
}

// A way with its bytes and seconds filled in.
Way planned(Way way, const Settings& settings, int vocab, int threads, Effort effort) {
  const Speed& speed = table_speed(settings.isa);
  const PlannedRun run = plan_run(settings, vocab, way, threads, effort);
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
        node.op->work(in, out) / rate_of(*node.op, out, speed) * (n < list.loop_end ? own_repeats(list) : 1);
  }
  // Threads that meet at every node wait for each other at every node.
  way.seconds = seconds / threads / (way.lanes > 1 ? 0.97 : 0.93);
  way.heap_bytes = heap_of(graph, settings, way);
  way.read_bytes = fetched_bytes(list) * uint64_t(own_repeats(list));
  way.seconds = std::max(way.seconds, double(way.read_bytes) / usual_disk);
  return way;
}

}  // namespace

double slowness(const Settings& settings) {
  return Calibration(settings, thread_count(settings)).measure(table_speed(settings.isa).products);
}

void predict(std::span<Way> ways, const Settings& settings) {
  const double slower = slowness(settings);
  const bool streams =
      std::any_of(ways.begin(), ways.end(), [](const Way& way) { return way.read_bytes > 0; });
  const double disk = streams ? open_pretrained(settings.model)->stream->speed() : usual_disk;
  const double reading = reading_cost / thread_count(settings);
  for (Way& way : ways)
    way.seconds =
        std::max(way.seconds * slower + double(way.read_bytes) * reading, double(way.read_bytes) / disk);
}

uint64_t process_overhead(uint64_t now) {
  constexpr uint64_t step = 4 << 20;
  // Measured after the plan is mapped: the record's heap (4 MiB), stacks, code that runs for the first time.
  constexpr uint64_t later = 7 << 20;
  return std::max<uint64_t>(16 << 20, (now + later + step - 1) / step * step);
}

const char* smaller_run(const Settings& settings) {
  return settings.model.empty()   ? "a smaller --dim, --layers or --context"
         : settings.lora_rank > 0 ? "a smaller --context or --lora-rank"
                                  : "a smaller --context, or train adapters with --lora-rank";
}

Way unconstrained(const Settings& settings, int vocab, int threads) {
  return planned(stated_way(settings, vocab), settings, vocab, threads, Effort::full);
}

Way smallest(const Settings& settings, int vocab, int threads) {
  Way least;
  least.plan_bytes = UINT64_MAX;
  // Rows of logits trade against nothing else, so a few are tried; fewer windows never need more memory.
  for (int rows : {8, 32})
    for (RecomputeChoice recompute :
         {RecomputeChoice{Recompute::cheap, 0}, RecomputeChoice{Recompute::blocks, settings.layers}}) {
      const Way way = planned({.micro_batch = 1,
                               .leaves = settings.leaves,
                               .recompute = recompute,
                               .loss_rows = rows,
                               .staging = false,
                               .stream = can_stream(settings)},
                              settings, vocab, threads, Effort::full);
      if (way.bytes() < least.bytes()) least = way;
    }
  return least;
}

std::vector<Way> ways(const Settings& settings, int vocab, int threads) {
  const Way stated = stated_way(settings, vocab);
  std::vector<RecomputeChoice> recomputes = {{Recompute::nothing, 0}, {Recompute::cheap, 0}};
  for (int quarter = 1; quarter <= 4; ++quarter) {
    const int blocks = (settings.layers * quarter + 3) / 4;
    if (recomputes.back().blocks != blocks) recomputes.push_back({Recompute::blocks, blocks});
  }
  const int64_t tokens = int64_t(stated.micro_batch) * settings.context;
  std::vector<Way> found;
  for (int micro : divisors(settings.batch)) {
    if (micro > stated.micro_batch) continue;
    const int repeats = settings.accumulate * settings.batch / micro;
    const auto& [rank, ranks, on_node] = settings.standing;
    if (repeats < ranks && micro > 1) continue;
    const int several =
        settings.leaves > 0
            ? lanes_for(leaves_of(rank, ranks, std::min(settings.leaves, repeats)).count, threads)
            : fast_lanes(repeats / ranks, trained_count(model_spec(settings, vocab)), threads);
    for (const RecomputeChoice& recompute : recomputes)
      for (int rows : {0, 64, 8}) {
        if (rows && (tokens <= rows || vocab < settings.dim)) continue;  // logits are no burden
        for (int lanes : several > 1 ? std::vector{several, 1} : std::vector{1})
          for (bool staging : {true, false})
            for (bool stream : {false, true}) {
              if (staging && !stated.staging) continue;
              if (stream ? lanes > 1 || !can_stream(settings) : stated.stream) continue;
              found.push_back(planned({.micro_batch = micro,
                                       .lanes = lanes,
                                       .leaves = settings.leaves,
                                       .recompute = recompute,
                                       .loss_rows = rows,
                                       .staging = staging,
                                       .stream = stream},
                                      settings, vocab, threads, Effort::quick));
            }
      }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  return found;
}

Way choose(const Settings& settings, int vocab, int threads, uint64_t budget, uint64_t overhead) {
  const uint64_t bytes = budget > overhead ? budget - overhead : 0;
  Way stated = unconstrained(settings, vocab, threads);
  if (stated.bytes() <= bytes) return stated;
  if (settings.micro_batch > 0 && (settings.lanes > 0 || settings.leaves > 0) &&
      settings.recompute != "auto" && stated.staging) {
    stated.staging = false;
    stated = planned(stated, settings, vocab, threads, Effort::full);
    if (stated.bytes() <= bytes) return stated;
  }
  const Way least = smallest(settings, vocab, threads);
  if (least.bytes() > bytes)
    fail_input(
        "--memory {} is below what this run needs: {} bytes at least ({} planned with {}, {} for the process "
        "itself); give "
        "--memory {} or {}",
        format_bytes(budget), least.bytes() + overhead, format_bytes(least.plan_bytes), least.text(),
        format_bytes(overhead + least.heap_bytes), least.bytes() + overhead, smaller_run(settings));
  for (const Way& way : ways(settings, vocab, threads)) {
    if (way.bytes() <= bytes) return planned(way, settings, vocab, threads, Effort::full);
  }
  return least;
}

}  // namespace plimsoll
