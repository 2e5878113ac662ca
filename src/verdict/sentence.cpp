#include "verdict/sentence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.hpp"

namespace plimsoll::verdict {
namespace {

std::string bytes(double value) { return format_bytes(static_cast<uint64_t>(std::clamp(value, 0., 1.8e19))); }

struct Pace {
  double seconds;
  const char* name;
};

// The shortest unit of time in which the rate is a megabyte or more.
Pace pace_for(double rate) {
  for (Pace pace : {Pace{1, "per second"}, Pace{60, "per minute"}, Pace{3600, "per hour"}})
    if (std::abs(rate) * pace.seconds >= 1e6) return pace;
  return {86400, "per day"};
}

std::string spikes_clause(const Verdict& v) {
  if (v.spikes.count == 0) return "";
  return fmt::format(" {} spike{} of about {}{} came back down.", v.spikes.count,
                     v.spikes.count == 1 ? "" : "s", bytes(v.spikes.typical_bytes),
                     v.spikes.phase.empty() ? "" : " (" + v.spikes.phase + ")");
}

// For a verdict with a time to the limit.
std::string arrival(const Verdict& v) {
  if (*v.seconds_to_limit <= 0) return "is already above " + bytes(v.limit_bytes);
  return fmt::format("reaches {} in {} at this rate", bytes(v.limit_bytes),
                     format_duration(*v.seconds_to_limit));
}

}  // namespace

std::string sentence(const Verdict& v, double start) {
  if (v.samples < 20)
    return fmt::format("Undecided: {} usable sample{} too few; {} more would do.", v.samples,
                       v.samples == 1 ? " is" : "s are",
                       v.needs_seconds >= 0.1 ? "about " + format_duration(v.needs_seconds) : "some 40");
  if (v.kind == Kind::leak) {
    const Pace pace = pace_for(v.rate);
    std::string out = fmt::format(
        "Leak: memory that is not released grows by {} {} (between {} and {}) since {}, from {} to {}",
        bytes(v.rate * pace.seconds), pace.name, bytes(v.rate_low * pace.seconds),
        bytes(v.rate_high * pace.seconds),
        v.onset <= start ? "the start" : format_duration(v.onset - start) + " into the run",
        bytes(v.floor_start), bytes(v.floor_end));
    if (v.rate_per_step) out += fmt::format(", {} per {}", bytes(*v.rate_per_step), v.step_unit);
    if (v.seconds_to_limit) out += "; it " + arrival(v);
    return out + "." + spikes_clause(v);
  }
  const Pace pace = pace_for(v.ruled_out_rate);
  if (v.kind == Kind::no_leak) {
    std::string level = std::abs(v.floor_end - v.floor_start) <= .02 * std::max(v.floor_end, v.floor_start)
                            ? fmt::format("the floor stayed at {}", bytes(v.floor_end))
                            : fmt::format("the floor went from {} to {} and does not keep rising",
                                          bytes(v.floor_start), bytes(v.floor_end));
    return fmt::format("No leak: {}; growth above {} {} would have been seen.", level,
                       bytes(v.ruled_out_rate * pace.seconds), pace.name) +
           spikes_clause(v);
  }
  if (v.growing && v.rate > 0) {
    const Pace grows = pace_for(v.rate);
    const std::string per_step =
        v.rate_per_step ? fmt::format(", {} per {}", bytes(*v.rate_per_step), v.step_unit) : "";
    const std::string when =
        v.may_end_with_epoch  ? "it may end with the first epoch, and the second will tell"
        : v.needs_seconds > 0 ? "it may stop, about " + format_duration(v.needs_seconds) + " more will tell"
                              : "it may stop, more time will tell";
    return fmt::format("Growing: the floor rises by {} {}{}, from {} to {}{}; {}.",
                       bytes(v.rate * grows.seconds), grows.name, per_step, bytes(v.floor_start),
                       bytes(v.floor_end), v.seconds_to_limit ? " and " + arrival(v) : "", when) +
           spikes_clause(v);
  }
  if (!(v.ruled_out_rate > 0))  // start-up and end were all there was
    return fmt::format(
        "Undecided: too little was seen between the program's start-up and its end; {} more would do.",
        v.needs_seconds >= 0.1 ? "about " + format_duration(v.needs_seconds) : "some 40 samples");
  return fmt::format(
             "Undecided: the floor {} ({} to {}), and growth up to {} {} cannot be ruled out; about {} "
             "more will tell.",
             v.growing ? "is growing, which may stop" : "does not clearly rise", bytes(v.floor_start),
             bytes(v.floor_end), bytes(v.ruled_out_rate * pace.seconds), pace.name,
             format_duration(v.needs_seconds)) +
         spikes_clause(v);
}

std::string describe(const Fit& fit) {
  static constexpr std::array names{
      "warm-up", "logarithmic growth", "growth that slows", "filled and stopped", "step",
      "wave",    "saw-tooth",          "steady rise",       "accelerating rise"};
  std::vector<std::string> parts;
  if (fit.rise > 0) parts.emplace_back(names[size_t(fit.accelerating ? Family::acceleration : Family::rise)]);
  for (const Component& c : fit.shapes) {
    std::string name = names[size_t(c.family)];
    if (c.family == Family::fill && c.to - c.from < .08) name = "step";
    if (std::find(parts.begin(), parts.end(), name) == parts.end()) parts.push_back(name);
  }
  return parts.empty() ? "flat" : fmt::format("{}", fmt::join(parts, " + "));
}

}  // namespace plimsoll::verdict
