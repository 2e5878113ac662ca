#include "train/saved_model.hpp"

#include <algorithm>

#include "train/model_spec.hpp"

namespace plimsoll {
namespace {

Settings with_threads(Settings settings, int threads) {
  settings.threads = threads;
  return settings;
}

// Weights that a run streams are kept here: nobody watches for damage while text is written.
Settings without_streaming(Settings settings) {
  settings.stream = "off";
  return settings;
}

ProgramOptions without_training(const SavedModel& saved, const LoadOptions& options) {
  ProgramOptions o = program_options(without_streaming(saved.state.settings), saved.state.vocab);
  if (!saved.checkpoint) o.model = as_published(saved.state.settings);
  o.train = false;
  o.packed = options.packed;
  o.logits = options.logits;
  o.generate = options.generate;
  o.evaluate_batch = options.evaluate_batch;
  o.tiles = std::max(o.tiles, options.tiles);
  o.picture_cache = std::max(o.picture_cache, o.tiles * std::max<int64_t>(1, o.evaluate_batch));
  return o;
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
