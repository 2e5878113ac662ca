#include "bench/config.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plimsoll::bench {

std::span<const Config> configs() {
  static const std::vector<Config> known = {
      // name, vocab, context, layers, heads, dim, batch
      {"tiny1", 65, 32, 2, 4, 40, 1},      {"tiny4", 65, 32, 2, 4, 40, 4},
      {"small1", 65, 64, 2, 4, 128, 1},    {"small", 65, 64, 2, 4, 128, 16},
      {"nano", 65, 64, 4, 4, 128, 12},     {"baby", 65, 256, 6, 6, 384, 64},
      {"gpt2", 50304, 64, 12, 12, 768, 4}, {"gpt2-long", 50304, 1024, 12, 12, 768, 1},
  };
  return known;
}

const Config& find_config(std::string_view name) {
  std::vector<std::string> names;
  for (const Config& config : configs()) {
    if (config.name == name) return config;
    names.push_back(config.name);
  }
  fail_input("--config '{}' is unknown; did you mean '{}'? The configs are {}", name, nearest(name, names),
             fmt::join(names, ", "));
}

void check(const Config& config) {
  struct Limit {
    const char* flag;
    int64_t value, most;
  };
  for (const Limit& limit : {Limit{"--layers", config.layers, 512},
                             {"--heads", config.heads, 1024},
                             {"--dim", config.dim, 1 << 16},
                             {"--context", config.context, 1 << 16},
                             {"--batch", config.batch, 1 << 16},
                             {"--vocab", config.vocab, 1 << 20}})
    if (limit.value < 1 || limit.value > limit.most)
      fail_input("{} {} is out of range; give 1 to {}", limit.flag, limit.value, limit.most);
  if (config.dim % config.heads)
    fail_input("--dim {} is not divisible by --heads {}; give a multiple", config.dim, config.heads);
}

ModelSpec Config::model() const {
  return {.layers = layers,
          .heads = heads,
          .dim = dim,
          .ff = 4 * dim,
          .context = context,
          .vocab = vocab,
          .tied = true,
          .head_bias = false};
}

double Config::flops() const {
  const double L = double(layers), d = double(dim), V = double(vocab), T = double(context);
  return double(tokens()) * (6 * (12 * L * d * d + V * d) + 12 * L * T * d);
}

}  // namespace plimsoll::bench
