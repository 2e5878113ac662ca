#include "guard/policy_settings.hpp"

#include "base/error.hpp"

namespace plimsoll::guard {
namespace {

constexpr double a_day = 86400;

const PolicyKey keys[] = {
    {"Policy", "max_memory", &Policy::max_memory, "SIZE",
     "a line of your own for what is guarded, like 8GB or 80% of the limit that applies"},
    {"Policy", "memory_threshold_percentage", &Policy::memory_threshold_percentage, "X",
     "percent of the limit from which on what can shrink is made smaller", 1, 100},
    {"Policy", "warn_threshold", &Policy::warn_threshold, "SIZE",
     "use at which a warning is given, like 6GB or 70%"},
    {"Policy", "pause_threshold", &Policy::pause_threshold, "SIZE",
     "use at which work is paused, like 7GB or 90%"},
    {"Policy", "stop_threshold", &Policy::stop_threshold, "SIZE",
     "use at which work is stopped, like 7.5GB or 95%"},
    {"Policy", "hysteresis_percentage", &Policy::hysteresis_percentage, "X",
     "percent of the limit that use must fall below a line before the level is left", 0, 50},
    {"Policy", "dwell", &Policy::dwell, "TIME", "calm needed before warn or shrink is left", 0, a_day},
    {"Policy", "pause_dwell", &Policy::pause_dwell, "TIME", "calm needed before a pause ends", 0, a_day},
    {"Policy", "pause_bound", &Policy::pause_bound, "TIME",
     "how long pauses may last in all before the guard stops or goes on", 0, a_day},
    {"Policy", "pause_alone", &Policy::pause_alone, "TIME",
     "the same where what is paused holds the memory itself", 0, a_day},
    {"Policy", "shrink_patience", &Policy::shrink_patience, "TIME",
     "how long a request to shrink has to show an effect", 0, a_day},
    {"Policy", "prediction_horizon", &Policy::prediction_horizon, "TIME",
     "growth that would cross the stop line within this time raises the level by one; 0: no prediction", 0,
     a_day},
    {"Policy", "pressure_threshold_percentage", &Policy::pressure_threshold_percentage, "X",
     "percent of time all tasks wait for memory that raises the level by one", 1, 100},
    {"Policy", "memory_leak_threshold_mb", &Policy::memory_leak_threshold_mb, "X",
     "a leak of more MB than this a step is warned of", 0, 1e9},
    {"Policy", "batch_size_reduction_factor", &Policy::batch_size_reduction_factor, "X",
     "what a shrink leaves of the micro-batch", 0.01, 0.99},
};

}  // namespace

std::span<const PolicyKey> policy_keys() { return keys; }

void validate(const Policy& policy) {
  // Shares can be compared before the limit is known; a size and a share only against it, where the harder
  // line wins.
  const double threshold = policy.memory_threshold_percentage / 100, rest = 1 - threshold;
  struct Line {
    const char* name;
    double share;
  };
  auto share = [](const std::optional<Size>& given, double fallback) {
    return !given ? fallback : given->is_share ? given->share : -1;
  };
  const Line lines[] = {{"warn_threshold", share(policy.warn_threshold, threshold * 7 / 8)},
                        {"memory_threshold_percentage", threshold},
                        {"pause_threshold", share(policy.pause_threshold, threshold + rest / 2)},
                        {"stop_threshold", share(policy.stop_threshold, threshold + rest * 3 / 4)}};
  const Line* below = nullptr;
  for (const Line& line : lines) {
    if (line.share < 0) continue;
    if (below && line.share < below->share - 1e-9)
      fail_input(
          "{} ({:g}%) is above {} ({:g}%); the lines must rise from warn over shrink and pause to stop",
          below->name, below->share * 100, line.name, line.share * 100);
    below = &line;
  }
}

Policy read_policy(const PolicySources& sources) {
  Policy policy;
  const GivenByName given =
      gather(policy_keys(), "key of a policy", {sources.command_line, sources.file, sources.environment});
  for (const PolicyKey& key : keys)
    if (const auto said = given.find(key.name); said != given.end())
      assign(key, policy, said->second.text, said->second.where);
  return policy;
}

Policy resolve_policy(const PolicySources& sources) {
  const Policy policy = read_policy(sources);
  validate(policy);
  return policy;
}

}  // namespace plimsoll::guard
