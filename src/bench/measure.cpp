#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "bench/peak.hpp"
#include "graph/executor.hpp"
#include "kernels/gemm/backend.hpp"
#include "model/program.hpp"
#include "platform/memory.hpp"
#include "train/way.hpp"

namespace plimsoll::bench {
namespace {

constexpr size_t huge_pages_from = 16'000'000;
constexpr size_t fewest_steps = 5, most_steps = 100'000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int threads_for(const Options& options) {
  return options.threads > 0 ? options.threads : std::max(1, int(std::thread::hardware_concurrency()));
}

// A recorded program in memory of its own, every page touched, with starting weights.
class Loaded {
 public:
  Loaded(const ProgramOptions& options, int threads, const std::string& gemm, const std::string& isa)
      : backend(kernels::open_backend(gemm, isa)),
        program(record(options)),
        plan(make_plan(*program.graph, threads)),
        pool(threads) {
    if (const uint64_t free = machine_memory().available; plan.total > free)
      fail_input("this model needs {} and {} are available; make it smaller", format_bytes(plan.total),
                 format_bytes(free));
    memory_ =
        Mapping(plan.total, plan.total >= huge_pages_from ? Mapping::Pages::huge : Mapping::Pages::normal);
    release_code_pages();
    memory_.touch();
    auto* base = reinterpret_cast<std::byte*>(memory_.data());
    // The native product stays the table's own: the executor then need not know it was chosen.
    const kernels::GemmFunction product = backend.name == "native" ? nullptr : backend.run;
    executor = std::make_unique<Executor>(*program.graph, plan, pool, base,
                                          Executor::Options{.kernels = backend.table, .gemm = product});
    for (const Parameter& parameter : program.model->parameters()) fill(parameter);
  }

  const kernels::Backend backend;
  const Program program;
  const Plan plan;
  Pool pool;
  std::unique_ptr<Executor> executor;

 private:
  // Optimizer state needs nothing: fresh pages are zero.
  void fill(const Parameter& parameter) {
    struct Context {
      const Loaded* loaded;
      const Parameter* parameter;
      int64_t count;
      int parts;
    };
    const Context context{this, &parameter, (*program.graph)[parameter.id].type.elements(),
                          4 * pool.threads()};
    const Pool::Job job = [](const void* opaque, int part, int) {
      const auto& c = *static_cast<const Context*>(opaque);
      const Range range = split(c.count, part, c.parts, 1024);
      initialise(*c.loaded->program.graph, *c.parameter, 1, c.loaded->executor->bytes(c.parameter->id),
                 range.begin, range.end - range.begin);
    };
    pool.run(job, &context, context.parts);
  }

  Mapping memory_;
};

}  // namespace

Training measure_training(const Config& config, const Options& options) {
  check(config);
  ProgramOptions wanted;
  wanted.model = config.model();
  wanted.adamw = {.weight_decay = .1f};
  wanted.generate = false;
  wanted.early_updates = updates_early(wanted.model);
  if (wanted.early_updates) wanted.recompute = recompute_with_early_updates.how;
  Training result;
  result.threads = threads_for(options);
  const Cut cut = fast_cut(int(config.batch), 1, wanted.model, result.threads);
  wanted.batch = cut.micro_batch;
  wanted.lanes = cut.lanes;
  wanted.accumulate = int(config.batch) / cut.micro_batch;
  Loaded model(wanted, result.threads, options.gemm, options.isa);
  Executor& run = *model.executor;
  const int64_t count = (*model.program.graph)[model.program.tokens].type.elements();
  uint64_t step = 0;
  auto train = [&] {
    run.run(model.program.train, Moment{.step = step, .learning_rate = 3e-4f}, [&](int micro, int lane) {
      const CounterRng rng(step, Stream::windows);
      for (int64_t i = 0; i < count; ++i)
        run.tokens(model.program.tokens, lane)[i] =
            int32_t(rng.below(uint64_t(micro * count + i), uint64_t(config.vocab)));
    });
    ++step;
  };
  // A tenth of the time, at least two steps: caches, page tables, sleeping threads and the clock rate settle.
  for (const double begin = now(); step < 2 || (now() - begin < options.seconds / 10 && step < most_steps);)
    train();
  std::vector<double> times;
  times.reserve(most_steps);
  for (double begin = now(), last = begin;
       times.size() < fewest_steps || (last - begin < options.seconds && times.size() < most_steps);) {
    train();
    const double end = now();
    times.push_back(end - last);
    last = end;
  }
  if (const float loss = *run.data(model.program.loss); !(loss < 1e4f))
    fail("the loss became {}; the measurement is meaningless", loss);
  std::sort(times.begin(), times.end());
  const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  result.milliseconds = median * 1e3;
  result.fastest = times.front() * 1e3;
  result.tokens_per_second = double(config.tokens()) / median;
  result.gflops = config.flops() / median * 1e-9;
  result.steps = times.size();
  result.peak_rss = OwnMemory().peak();
  result.plan = model.plan.total;
  result.parameters = model.program.model->count();
  result.gemm = model.backend.description;
  result.peak = sgemm_peak(model.pool, model.backend);
  return result;
}

Generation measure_generation(const Config& config, const Options& options) {
  check(config);
  ProgramOptions wanted;
  wanted.model = config.model();
  wanted.train = false;
  Generation result;
  result.threads = threads_for(options);
  Loaded model(wanted, result.threads, options.gemm, options.isa);
  Executor& run = *model.executor;
  const float* logits = run.data(model.program.logits);
  int32_t token = 0;
  int position = 0;
  auto generate = [&] {
    *run.tokens(model.program.token) = token;
    run.run(model.program.generate, Moment{.position = position});
    token = int32_t(std::max_element(logits, logits + config.vocab) - logits);
    position = (position + 1) % int(config.context);
  };
  // Only whole contexts are counted: a token costs more the later it stands.
  auto fill_contexts = [&](double seconds) {
    const double begin = now();
    uint64_t tokens = 0;
    do {
      for (int64_t i = 0; i < config.context; ++i) generate();
      tokens += uint64_t(config.context);
    } while (now() - begin < seconds);
    result.tokens = tokens;
    result.tokens_per_second = double(tokens) / (now() - begin);
  };
  fill_contexts(options.seconds / 10);  // warm-up
  fill_contexts(options.seconds);
  result.peak_rss = OwnMemory().peak();
  result.plan = model.plan.total;
  result.parameters = model.program.model->count();
  result.gemm = model.backend.description;
  return result;
}

}  // namespace plimsoll::bench
