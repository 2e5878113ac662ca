#include "guard/policy_settings.hpp"

#include "base/error.hpp"

namespace plimsoll::guard {
namespace {

constexpr double a_day = 86400;

const PolicyKey keys[] = {
    {"Policy", "max_memory", &Policy::max_memory, "SIZE",
     "additional limit for the guarded program, such as 8GB or 80% of the effective limit"},
    {"Policy", "memory_threshold_percentage", &Policy::memory_threshold_percentage, "X",
     "percentage of the limit from which programs that can shrink are asked to", 1, 100},
    {"Policy", "warn_threshold", &Policy::warn_threshold, "SIZE",
     "use from which a warning is given, such as 6GB or 70%"},
    {"Policy", "pause_threshold", &Policy::pause_threshold, "SIZE",
     "use from which the program is paused, such as 7GB or 90%"},
    {"Policy", "stop_threshold", &Policy::stop_threshold, "SIZE",
     "use from which the program is stopped, such as 7.5GB or 95%"},
    {"Policy", "hysteresis_percentage", &Policy::hysteresis_percentage, "X",
     "how far use must fall below a line before its level is left, in percent of the limit", 0, 50},
    {"Policy", "dwell", &Policy::dwell, "TIME",
     "how long use must stay below that before warn or shrink is left", 0, a_day},
    {"Policy", "pause_dwell", &Policy::pause_dwell, "TIME",
     "how long use must stay below that before a pause ends", 0, a_day},
    {"Policy", "pause_bound", &Policy::pause_bound, "TIME",
     "how long pauses in close succession may last in total", 0, a_day},
    {"Policy", "pause_alone", &Policy::pause_alone, "TIME",
     "the same if the paused program itself holds the memory", 0, a_day},
    {"Policy", "shrink_patience", &Policy::shrink_patience, "TIME",
     "how long a request to shrink may take to have an effect", 0, a_day},
    {"Policy", "prediction_horizon", &Policy::prediction_horizon, "TIME",
     "growth that would cross the stop line within this time raises the level by one; 0: off", 0, a_day},
    {"Policy", "pressure_threshold_percentage", &Policy::pressure_threshold_percentage, "X",
     "percentage of time in which all tasks wait for memory from which the level is raised by one", 1, 100},
    {"Policy", "memory_leak_threshold_mb", &Policy::memory_leak_threshold_mb, "X",
     "warn of a leak of more than this many MB per step", 0, 1e9},
    {"Policy", "batch_size_reduction_factor", &Policy::batch_size_reduction_factor, "X",
     "factor by which a shrink reduces the micro-batch", 0.01, 0.99},
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
          "{} ({:g}%) is above {} ({:g}%); the lines must increase from warn to shrink, pause and stop",
          below->name, below->share * 100, line.name, line.share * 100);
    below = &line;
  }
}

Policy resolve_policy(const PolicySources& sources) {
  Policy policy;
  const GivenByName said =
      gather(policy_keys(), "policy key", {sources.command_line, sources.file, sources.environment});
  for (const PolicyKey& key : keys)
    if (const auto one = said.find(key.name); one != said.end())
      assign(key, policy, one->second.text, one->second.where);
  if (sources.given) sources.given(policy);
  validate(policy);
  return policy;
}

}  // namespace plimsoll::guard
