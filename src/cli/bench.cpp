// `plimsoll bench`: how fast this machine trains, or generates with, a model of a given size.
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/units.hpp"
#include "bench/measure.hpp"
#include "cli/command.hpp"

namespace plimsoll::cli::bench_command {
namespace {

std::string name = "small";
std::optional<int64_t> layers, heads, dim, context, batch, vocab;
bench::Options options;
bool generate = false, as_json = false;

bench::Config chosen() {
  bench::Config config = bench::find_config(name);
  auto change = [&](int64_t& field, const std::optional<int64_t>& flag) {
    if (!flag) return;
    field = *flag;
    config.name = "custom";
  };
  change(config.layers, layers);
  change(config.heads, heads);
  change(config.dim, dim);
  change(config.context, context);
  change(config.batch, batch);
  change(config.vocab, vocab);
  return config;
}

void report_generation(const bench::Config& config) {
  const bench::Generation g = bench::measure_generation(config, options);
  const double share = g.tokens_per_second * double(g.parameters * sizeof(float)) / g.read_peak;
  if (as_json) {
    const nlohmann::ordered_json out = {{"config", config.name},
                                        {"tokens_per_second", g.tokens_per_second},
                                        {"peak_rss_bytes", g.peak_rss},
                                        {"plan_bytes", g.plan},
                                        {"parameters", g.parameters},
                                        {"tokens", g.tokens},
                                        {"gemm", g.gemm},
                                        {"threads", g.threads},
                                        {"read_bytes_per_second", g.read_peak},
                                        {"share_of_read", share}};
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("config             {}, {} parameters\n", config.name, format_count(g.parameters));
  fmt::print("computed with      {}, {} threads\n", g.gemm, g.threads);
  fmt::print("tokens a second    {:.0f} over {} tokens\n", g.tokens_per_second, format_count(g.tokens));
  fmt::print("weights            read at {:.0f} % of the {:.1f} GB/s that threads read from memory here\n",
             100 * share, g.read_peak * 1e-9);
  fmt::print("memory             {} planned, {} at most in the whole process\n", format_bytes(g.plan),
             format_bytes(g.peak_rss));
}

void report_training(const bench::Config& config) {
  const bench::Training t = bench::measure_training(config, options);
  const double share = t.gflops / t.peak;
  if (as_json) {
    const nlohmann::ordered_json out = {{"config", config.name},
                                        {"ms_per_step", t.milliseconds},
                                        {"tokens_per_second", t.tokens_per_second},
                                        {"gflops", t.gflops},
                                        {"sgemm_peak_gflops", t.peak},
                                        {"peak_rss_bytes", t.peak_rss},
                                        {"plan_bytes", t.plan},
                                        {"parameters", t.parameters},
                                        {"steps", t.steps},
                                        {"ms_min", t.fastest},
                                        {"gemm", t.gemm},
                                        {"threads", t.threads},
                                        {"share_of_peak", share}};
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("config             {}, {} parameters, {} tokens a step\n", config.name,
             format_count(t.parameters), format_count(uint64_t(config.tokens())));
  fmt::print("computed with      {}, {} threads\n", t.gemm, t.threads);
  fmt::print("step               {:.3f} ms (median of {}; fastest {:.3f})\n", t.milliseconds,
             format_count(t.steps), t.fastest);
  fmt::print("tokens a second    {}\n", format_count(uint64_t(t.tokens_per_second)));
  fmt::print("GFLOP/s            {:.1f}, {:.0f} % of the {:.1f} matrix products alone reach here\n", t.gflops,
             100 * share, t.peak);
  fmt::print("memory             {} planned, {} at most in the whole process\n", format_bytes(t.plan),
             format_bytes(t.peak_rss));
}

void run() {
  if (!(options.seconds >= 0 && options.seconds <= 86400))
    fail_input("--seconds {} is out of range; give 0 to 86400", options.seconds);
  if (options.threads < 0 || options.threads > 4096)
    fail_input("--threads {} is out of range; give 0 (all cores) to 4096", options.threads);
  const bench::Config config = chosen();
  generate ? report_generation(config) : report_training(config);
}

Command command(
    70, "bench", "measure training steps or generation on this machine",
    "plimsoll bench --config nano --threads 2", [](Options& flags) {
      std::string names;
      for (const bench::Config& config : bench::configs()) names += (names.empty() ? "" : ", ") + config.name;
      flags.value("--config", name, "one of " + names);
      flags.value("--layers", layers, "override the configuration: number of blocks");
      flags.value("--heads", heads, "number of attention heads");
      flags.value("--dim", dim, "width; a multiple of the heads");
      flags.value("--context", context, "tokens per window");
      flags.value("--batch", batch, "windows per step");
      flags.value("--vocab", vocab, "size of the vocabulary");
      flags.value("--threads", options.threads, "number of compute threads; 0: all cores");
      flags.value("--seconds", options.seconds, "how long to measure");
      flags.value("--gemm", options.gemm, "matrix products: auto, native, onednn, cblas, plain");
      flags.value("--isa", options.isa, "kernels: auto, plain, avx2, avx512").from("PLIMSOLL_ISA");
      flags.value("--precision", options.precision, "numbers that products multiply: f32, bf16");
      flags.flag("--generate", generate, "measure generation in tokens per second instead");
      flags.flag("--json", as_json, "print one JSON object");
      flags.run(run);
    });

}  // namespace
}  // namespace plimsoll::cli::bench_command
