#include "train/saved_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "platform/memory.hpp"
#include "train/budget.hpp"
#include "train/model_spec.hpp"

namespace plimsoll {
namespace {

Settings with_threads(Settings settings, int threads) {
  settings.threads = threads;
  return settings;
}

ProgramOptions without_training(const SavedModel& saved, const LoadOptions& options, bool stream) {
  Settings settings = saved.state.settings;
  settings.stream = stream ? "on" : "off";
  ProgramOptions o = program_options(settings, saved.state.vocab);
  if (!saved.checkpoint) o.model = as_published(settings, stream);
  o.train = false;
  o.packed = options.packed;
  o.logits = options.logits;
  o.generate = options.generate;
  o.evaluate_batch = options.evaluate_batch;
  o.tiles = std::max(o.tiles, options.tiles);
  o.picture_cache = std::max(o.picture_cache, o.tiles * std::max<int64_t>(1, o.evaluate_batch));
  return o;
}

uint64_t planned_bytes(const ProgramOptions& options, int threads) {
  constexpr uint64_t streaming = 2 << 20;  // a buffer and a thread
  const Program program = record(options);
  return make_plan(*program.graph, threads, Effort::quick).total + (options.model.source ? streaming : 0);
}

// The first of the ways from the fastest to the smallest that stays below the line.
ProgramOptions without_training(const SavedModel& saved, const LoadOptions& options) {
  const bool published = !saved.state.settings.model.empty();
  if (options.stream == "on" && !published)
    fail_input(
        "--stream on: this model did not start from a published one, whose files could be read; leave it "
        "out");
  if (options.memory.empty()) return without_training(saved, options, published && options.stream == "on");
  const int threads = thread_count(with_threads(saved.state.settings, options.threads));
  const uint64_t line = parse_size(options.memory, "--memory").of(machine_memory().total);
  const uint64_t overhead = process_overhead(saved.state.settings);
  uint64_t least = UINT64_MAX;
  LoadOptions one = options;
  one.evaluate_batch = std::min<int64_t>(1, options.evaluate_batch);
  for (const bool stream : {false, true})
    for (const LoadOptions& way : {options, one}) {
      if (stream ? !published || options.stream == "off" : options.stream == "on") continue;
      ProgramOptions found = without_training(saved, way, stream);
      const uint64_t bytes = planned_bytes(found, threads) + overhead;
      if (bytes <= line) return found;
      least = std::min(least, bytes);
    }
  fail_input("--memory {} is below what this model needs: {} bytes at least; give --memory {}",
             options.memory, least, least);
}

}  // namespace

LoadedModel::LoadedModel(const SavedModel& saved, const LoadOptions& options)
    : runtime(without_training(saved, options),
              thread_count(with_threads(saved.state.settings, options.threads)),
              kernels::open_backend(options.gemm), false) {
  const Settings& settings = saved.state.settings;
  if (!settings.model.empty())
    load_published(runtime, settings, saved.checkpoint.has_value(), saved.state.base_checksum);
  if (saved.checkpoint) load(*saved.checkpoint, runtime.model_slots());
}

}  // namespace plimsoll
