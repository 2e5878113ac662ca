#include "train/step_time.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include "graph/executor.hpp"
#include "graph/pool.hpp"
#include "kernels/gemm/backend.hpp"
#include "platform/clock.hpp"
#include "platform/memory.hpp"
#include "train/way.hpp"

namespace plimsoll {
namespace {

// How fast one thread is.
struct Speed {
  const char* kernels;
  double products;  // floating-point operations a second of matrix products
  double exact;     // of those of f32, which attention is made of
  double others;    // "work" a second of other nodes
};
// Assumed of every processor, estimated and not measured: bytes a second that one thread moves between memory
// and the processor, what stays in the caches between two nodes, and the seconds a node costs that are not
// its work: being called, being handed to other threads.
constexpr double memory_speed = 1.2e10;
constexpr double cached_bytes = 4 << 20;
constexpr double call = 1e-7, handing_over = 2.5e-6;

// Measured on an AMD EPYC with AVX-512, one core, products of 128 x 128 by 128 x 256 and GELU of as many
// numbers. Only the relation of the two columns matters for choosing; see slowness() for the rest.
constexpr Speed speeds[] = {
    {"avx512", 1.12e11, 1.12e11, 6.5e10},    {"avx2", 1.04e11, 1.04e11, 4.5e10},
    {"baseline", 3.67e10, 3.67e10, 1.48e10}, {"reference", 2.5e9, 2.5e9, 8.5e9},
    {"bf16", 2e11, 1.12e11, 6.5e10},
};

const Speed& table_speed(const std::string& isa, const std::string& precision) {
  const std::string_view name = precision == "bf16" ? "bf16" : kernels::table_of(isa).name;
  for (const Speed& speed : speeds)
    if (name == speed.kernels) return speed;
  return speeds[2];
}

// A product such as the model has most of, by every thread at once: together they share caches, the memory's
// bandwidth and the processor's clock. What one thread does alone, with operands in its own cache, no step
// ever reaches.
class Calibration {
 public:
  Calibration(const Settings& settings, int threads)
      : m_(std::clamp(settings.context, 128, 512)),
        n_(std::clamp(settings.ff / 2, 256, 512)),
        k_(std::clamp(settings.dim, 128, 2048)),
        half_(!settings.model.empty() && (settings.lora_rank > 0 || settings.train_last > 0)),
        product_(half_ ? kernels::table_of(settings.isa).gemm
                       : kernels::open_backend("native", settings.isa, settings.precision).run),
        threads_(threads),
        floats_(static_cast<size_t>(m_ * k_ + n_ * k_ + m_ * n_) + kernels::gemm_scratch_floats + 64),
        memory_(size_t(threads) * floats_ * sizeof(float), Mapping::Pages::huge) {}

  // Seconds of a thread's product over those expected: the processor's, so that what else runs hardly counts,
  // and the best of a few times.
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
    for (int i = 0; i < 12; ++i) {
      const double start = platform::processor_seconds();
      product_(product, scratch);
      best_[part] = std::min(best_[part], platform::processor_seconds() - start);
    }
  }

  int64_t m_, n_, k_;
  bool half_;
  kernels::GemmFunction product_;
  int threads_;
  size_t floats_;
  Mapping memory_;
  double* best_ = nullptr;
  mutable std::atomic<int> ready_{0};
};

// Work a second of one thread. Packing the weight costs as much as some ten rows of the product.
double rate_of(const Op& op, std::span<const Type> out, const Speed& speed) {
  switch (op.cost()) {
    case Cost::product:
      return speed.products / (1 + 12 / double(out[0].shape[0]));
    case Cost::attention:
      return speed.exact / 1.3;
    case Cost::exchange:  // what lanes cost is in the factor of the whole step
      return std::numeric_limits<double>::infinity();
    case Cost::function:
    case Cost::memory:
      break;
  }
  return speed.others;
}

// Seconds of a node that `threads` may share: cut as the executor cuts it.
double node_seconds(const Op& op, std::span<const Type> in, std::span<const Type> out, int threads,
                    const Speed& speed) {
  double seconds = op.work(in, out) / rate_of(op, out, speed);
  if (op.cost() == Cost::memory) {
    double bytes = 0;
    for (const Type& type : in) bytes += double(type.bytes());
    for (const Type& type : out) bytes += double(type.bytes());
    if (bytes > cached_bytes) seconds = std::max(seconds, bytes / memory_speed);
  }
  const int parts = parts_for(op, in, out, threads);
  if (parts == 1) return call + seconds;
  const int rounds = (parts + threads - 1) / threads;
  return call + handing_over + seconds * rounds / parts;
}

}  // namespace

int own_repeats(const List& list) {
  const LeafRange leaves = list.leaves();
  int count = 0;
  for (int micro = leaves.first; micro < list.repeats; micro += leaves.all)
    count += std::min(leaves.count, list.repeats - micro);
  return count;
}

double step_seconds(const Graph& graph, const List& list, int threads, const std::string& isa,
                    const std::string& precision) {
  const Speed& speed = table_speed(isa, precision);
  // A lane's nodes are one thread's; it meets the others at the end of the loop.
  const int in_loop = list.lanes > 1 ? 1 : threads;
  const int rounds = (own_repeats(list) + list.lanes - 1) / list.lanes;
  double seconds = 0;
  std::vector<Type> in, out;
  for (size_t n = 0; n < list.nodes().size(); ++n) {
    const Node& node = list.nodes()[n];
    in.clear(), out.clear();
    for (ValueId id : node.in) in.push_back(graph[id].type);
    for (ValueId id : node.out) out.push_back(graph[id].type);
    const bool loops = n < list.loop_end;
    seconds += node_seconds(*node.op, in, out, loops ? in_loop : threads, speed) * (loops ? rounds : 1);
  }
  return seconds;
}

double slowness(const Settings& settings) {
  return Calibration(settings, thread_count(settings))
      .measure(table_speed(settings.isa, settings.precision).products);
}

}  // namespace plimsoll
