// The presets. tiny to large follow a well-known C trainer: untied head with bias and 128 learned positions
// regardless of the context (which results in 46 K, 422 K, 3.2 M and 19 M parameters). nano, baby and gpt2
// follow GPT-2: tied head without bias, as many positions as context.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "train/settings.hpp"

namespace plimsoll {
namespace {

// Learning rates of tiny, small and nano are the best of those tried for as many iterations as they have (docs/train.md); the
// others were not tried.
Settings shape(const char* name, int layers, int heads, int dim, int ff, int context, int iterations) {
  Settings s;
  s.preset = name;
  s.layers = layers, s.heads = heads, s.dim = dim, s.ff = ff, s.context = context;
  s.iterations = iterations;
  return s;
}

Settings gpt(const char* name, int layers, int heads, int dim, int context, int iterations) {
  Settings s = shape(name, layers, heads, dim, 4 * dim, context, iterations);
  s.positions = context;
  s.tied = true, s.head_bias = false;
  s.beta2 = 0.99, s.weight_decay = 0.1;
  s.lr = 1e-3, s.min_lr = 1e-4;
  return s;
}

Settings tiny() {
  Settings s = shape("tiny", 1, 2, 64, 128, 32, 2000);
  s.lr = 3e-3, s.min_lr = 0;
  return s;
}

Settings slow(Settings s) {
  s.lr = 3e-4, s.min_lr = 3e-5;
  return s;
}

Settings nano() {
  Settings s = gpt("nano", 4, 4, 128, 64, 2000);
  s.lr = 3e-3, s.min_lr = 0;
  s.batch = 12;
  s.eval_every = 250;
  return s;
}

Settings baby() {
  Settings s = gpt("baby", 6, 6, 384, 256, 5000);
  s.batch = 64, s.dropout = 0.2;
  s.eval_every = 250;
  s.log_every = 10;
  return s;
}

Settings gpt2() {
  Settings s = gpt("gpt2", 12, 12, 768, 1024, 600000);
  s.vocab = 50257;
  s.batch = 4, s.accumulate = 8;
  s.lr = 6e-4, s.min_lr = 6e-5, s.warmup = 2000;
  s.beta2 = 0.95;
  s.eval_every = 1000;
  s.log_every = 10;
  return s;
}

const std::vector<Settings>& all_presets() {
  static const std::vector<Settings> presets = {tiny(),
                                                shape("small", 2, 4, 128, 512, 64, 10000),
                                                slow(shape("medium", 4, 8, 256, 1024, 64, 10000)),
                                                slow(shape("large", 6, 16, 512, 2048, 64, 10000)),
                                                nano(),
                                                baby(),
                                                gpt2()};
  return presets;
}

}  // namespace

Settings fine_tuning_defaults(bool adapters) {
  Settings s;
  s.context = 512, s.iterations = 1000;
  s.lr = adapters ? 2e-4 : 2e-5, s.min_lr = s.lr / 10, s.warmup = 20;
  s.weight_decay = 0;
  s.log_every = 10, s.eval_every = 100, s.eval_batches = 10, s.sample_every = 0, s.checkpoint_every = 100;
  return s;
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Settings& s : all_presets()) all.push_back(s.preset);
    return all;
  }();
  return names;
}

Settings preset(std::string_view name) {
  for (const Settings& s : all_presets())
    if (s.preset == name) return s;
  fail_input("there is no preset '{}'; choose one of {}", name, fmt::join(preset_names(), ", "));
}

}  // namespace plimsoll
