#include "guard/policy_settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "guard/policy_file.hpp"

namespace plimsoll::guard {
namespace {

using Kind = PolicyKey::Kind;
constexpr double a_day = 86400;

const PolicyKey keys[] = {
    {"max_memory", Kind::size, &Policy::max_memory, nullptr, "SIZE",
     "an additional line for the guarded program, such as 8GB or 80% of the limit that applies"},
    {"memory_threshold_percentage", Kind::number, nullptr, &Policy::memory_threshold_percentage, "X",
     "percentage of the limit from which programs that can shrink are asked to", 1, 100},
    {"warn_threshold", Kind::size, &Policy::warn_threshold, nullptr, "SIZE",
     "use from which a warning is given, such as 6GB or 70%"},
    {"pause_threshold", Kind::size, &Policy::pause_threshold, nullptr, "SIZE",
     "use from which the program is paused, such as 7GB or 90%"},
    {"stop_threshold", Kind::size, &Policy::stop_threshold, nullptr, "SIZE",
     "use from which the program is stopped, such as 7.5GB or 95%"},
    {"hysteresis_percentage", Kind::number, nullptr, &Policy::hysteresis_percentage, "X",
     "how far use must fall below a line before its level is left, in percent of the limit", 0, 50},
    {"dwell", Kind::duration, nullptr, &Policy::dwell, "TIME", "how long use must stay below that before warn or shrink is left", 0,
     a_day},
    {"pause_dwell", Kind::duration, nullptr, &Policy::pause_dwell, "TIME", "how long use must stay below that before a pause ends",
     0, a_day},
    {"pause_bound", Kind::duration, nullptr, &Policy::pause_bound, "TIME",
     "how long pauses in close succession may last in total", 0, a_day},
    {"pause_alone", Kind::duration, nullptr, &Policy::pause_alone, "TIME",
     "the same if the paused program itself holds the memory", 0, a_day},
    {"shrink_patience", Kind::duration, nullptr, &Policy::shrink_patience, "TIME",
     "how long a request to shrink may take to have an effect", 0, a_day},
    {"prediction_horizon", Kind::duration, nullptr, &Policy::prediction_horizon, "TIME",
     "growth that would cross the stop line within this time raises the level by one; 0: off", 0,
     a_day},
    {"pressure_threshold_percentage", Kind::number, nullptr, &Policy::pressure_threshold_percentage, "X",
     "percentage of time in which all tasks wait for memory from which the level is raised by one", 1, 100},
    {"memory_leak_threshold_mb", Kind::number, nullptr, &Policy::memory_leak_threshold_mb, "X",
     "warn of a leak of more than this many MB per step", 0, 1e9},
    {"batch_size_reduction_factor", Kind::number, nullptr, &Policy::batch_size_reduction_factor, "X",
     "factor by which a shrink reduces the micro-batch", 0.01, 0.99},
};

bool parse_number(std::string_view text, double& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() && std::isfinite(number);
}

std::string spell_size(const Size& size) {
  return size.is_share ? fmt::format("{:g}%", size.share * 100) : fmt::format("{}", size.bytes);
}

}  // namespace

std::string PolicyKey::flag() const {
  std::string text = std::string("--") + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string PolicyKey::environment() const {
  std::string text = std::string("PLIMSOLL_") + name;
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  return text;
}

std::span<const PolicyKey> policy_keys() { return keys; }

const PolicyKey* find_policy_key(std::string_view name) {
  for (const PolicyKey& key : keys)
    if (key.name == name) return &key;
  return nullptr;
}

void assign(const PolicyKey& key, Policy& policy, std::string_view text, std::string_view where) {
  if (key.kind == Kind::size) {
    Size size;
    try {
      size = parse_size(text);
    } catch (const InputError& e) {
      fail_input("{}: {}", where, e.what());
    }
    if (size.is_share ? size.share <= 0 : size.bytes == 0)
      fail_input("{}: '{}' leaves no memory; give a size like 8GB or a share like 80%", where, text);
    policy.*key.size = size;
    return;
  }
  double value = 0;
  if (key.kind == Kind::duration) {
    try {
      value = parse_duration(text);
    } catch (const InputError& e) {
      fail_input("{}: {}", where, e.what());
    }
  } else {
    // A percentage may be written with its sign.
    std::string_view digits = text;
    if (std::string_view(key.name).ends_with("_percentage") && digits.ends_with('%')) digits.remove_suffix(1);
    if (!parse_number(digits, value)) value = std::nan("");
  }
  if (!(value >= key.least && value <= key.most))
    fail_input("{}: '{}' is not {} from {:g} to {:g}{}", where, text,
               key.kind == Kind::duration ? "a time" : "a number", key.least, key.most,
               key.kind == Kind::duration ? " seconds" : "");
  policy.*key.number = value;
}

std::string text_of(const PolicyKey& key, const Policy& policy) {
  if (key.kind != Kind::size)
    return fmt::format("{:g}{}", policy.*key.number, key.kind == Kind::duration ? "s" : "");
  const std::optional<Size>& size = policy.*key.size;
  return size ? spell_size(*size) : "";
}

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
  auto named = [](const std::string& name, const std::string& where) -> const PolicyKey& {
    if (const PolicyKey* key = find_policy_key(name)) return *key;
    std::vector<std::string> names;
    for (const PolicyKey& known : keys) names.push_back(known.name);
    fail_input("{}: a policy has no key '{}'; did you mean '{}'?", where, name, nearest(name, names));
  };
  if (!sources.file.empty())
    for (const FileValue& value : read_policy_file(sources.file))
      assign(named(value.key, value.where), policy, value.text,
             fmt::format("{}, {}", value.where, value.key));
  for (const PolicyKey& key : keys) {
    const std::string name = key.environment();
    const char* text = sources.environment ? sources.environment(name.c_str()) : nullptr;
    if (text && *text) assign(key, policy, text, name);
  }
  for (const auto& [name, text] : sources.command_line) {
    const PolicyKey& key = named(name, "command line");
    assign(key, policy, text, key.flag());
  }
  if (sources.given) sources.given(policy);
  validate(policy);
  return policy;
}

}  // namespace plimsoll::guard
