// A training step whose memory is known before it runs: recorded once, planned, replayed without allocating.
//
//   plimsoll::TrainingStepOptions options;
//   options.layers = 1, options.heads = 2, options.dim = 32, options.context = 16, options.vocabulary = 11;
//   options.batch = 4;
//   plimsoll::TrainingStep step(options);
//   std::printf("%llu bytes planned\n", (unsigned long long)step.memory().bytes);
//   std::vector<int32_t> windows(4 * 17, 3);  // four windows of 16 tokens and the one after them
//   const float before = step.run(windows, 1e-2f);
//   for (int i = 0; i < 20; ++i) step.run(windows, 1e-2f);
//   assert(step.run(windows, 1e-2f) < before);
//
// Functions throw std::runtime_error with one line that says what was wrong.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plimsoll {

struct TrainingStepOptions {
  // The model: a GPT-2 transformer.
  int layers = 2, heads = 4, dim = 128;
  int feed_forward = 0;  // width of the feed-forward layer; 0: four times `dim`
  int context = 64, vocabulary = 256;
  // The step: AdamW on the mean cross-entropy of `batch` windows.
  int batch = 1;
  float dropout = 0, weight_decay = 0.1f, beta1 = 0.9f, beta2 = 0.95f;
  float clip = 1;  // largest norm of the gradient; 0: no limit
  uint64_t seed = 1;
  int threads = 1;
};

struct MemoryPlan {
  uint64_t bytes = 0;        // one mapping that holds everything the step touches
  uint64_t lower_bound = 0;  // most bytes alive at once: no plan can be smaller
  uint64_t persistent = 0;   // of them, parameters and moments
  struct Share {
    std::string role;  // "parameters", "gradients", ...
    uint64_t bytes = 0;
  };
  std::vector<Share> peak;  // what is alive at the largest moment; adds up to `lower_bound`
};

// The plan alone; no memory is mapped.
MemoryPlan plan_memory(const TrainingStepOptions& options);

class TrainingStep {
 public:
  explicit TrainingStep(const TrainingStepOptions& options);
  ~TrainingStep();
  TrainingStep(TrainingStep&&) noexcept;
  TrainingStep& operator=(TrainingStep&&) noexcept;

  const MemoryPlan& memory() const;
  uint64_t parameters() const;
  uint64_t steps() const;  // done so far

  // One step on `batch` windows of `context` + 1 tokens each; gives the loss before the update. The same options and
  // windows give the same bits, whatever the number of threads.
  float run(std::span<const int32_t> windows, float learning_rate);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
