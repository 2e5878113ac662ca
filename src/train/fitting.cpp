#include "train/fitting.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "guard/policy_settings.hpp"
#include "platform/headroom.hpp"
#include "platform/machine.hpp"
#include "platform/memory.hpp"
#include "train/budget.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {
namespace {

// Rounded down to what people write.
uint64_t whole_megabytes(uint64_t bytes) { return bytes / 1'000'000 * 1'000'000; }

// What limits leave this process, all of its memory counted.
struct Room {
  uint64_t unguarded;    // below the nearest limit
  uint64_t undisturbed;  // before the guard would make the run smaller
  uint64_t most;         // before it would pause it
  std::string where;     // what `most` is
};

// Of the limit that `more` bytes would come nearest to; nothing where none can be read.
std::optional<Room> find_room(const std::optional<guard::Policy>& policy, uint64_t more) {
  Headroom headroom(proc::Files(limit_roots()), platform::own_pid());
  const Headroom::State now = headroom.read(more);
  if (now.limit == 0) return std::nullopt;
  const uint64_t others = now.used - std::min(now.used, OwnMemory().resident());
  const auto below = [&](uint64_t line) { return line - std::min(line, others); };
  Room room{below(now.limit), below(now.limit), below(now.limit), ""};
  if (policy) {
    const guard::Lines lines = policy->lines(now.limit);
    room.undisturbed = below(lines.shrink), room.most = below(lines.pause);
  }
  room.where = fmt::format("{} of {}'s {} are left{}", format_bytes(room.most), headroom.name(now.source),
                           format_bytes(now.limit), policy ? " below the pause line" : "");
  if (policy && policy->max_memory) {
    const guard::Lines lines = policy->lines(policy->max_memory->of(now.limit));
    room.undisturbed = std::min(room.undisturbed, lines.shrink);
    if (lines.pause < room.most)
      room.most = lines.pause,
      room.where = fmt::format("{} is the pause line of max_memory", format_bytes(room.most));
  }
  return room;
}

// Raises lines that nobody set until a run of that size is below them; whether it can be.
bool raise_lines(std::optional<guard::Policy>& policy, uint64_t bytes) {
  constexpr double highest = 96;  // percent of the limit; the kernel has some memory of its own in a group
  if (!policy || policy->memory_threshold_percentage != guard::Policy{}.memory_threshold_percentage ||
      policy->warn_threshold || policy->pause_threshold || policy->stop_threshold || policy->max_memory)
    return false;
  std::optional<guard::Policy> raised = policy;
  while ((raised->memory_threshold_percentage += 0.5) <= highest)
    if (const auto room = find_room(raised, bytes); room && bytes <= room->undisturbed) {
      policy = raised;
      return true;
    }
  return false;
}

}  // namespace

std::optional<guard::Policy> guard_policy(const Settings& settings) {
  if (settings.guard == "off") return std::nullopt;
  guard::PolicySources sources;
  sources.file = settings.policy;
  // What a setting says wins over the file; one left at its default leaves the file its word.
  sources.given = [&settings, usual = Settings{}](guard::Policy& policy) {
    const auto overrule = [&](auto said, auto& value) {
      if (settings.*said != usual.*said) value = settings.*said;
    };
    overrule(&Settings::max_memory, policy.max_memory);
    overrule(&Settings::memory_threshold_percentage, policy.memory_threshold_percentage);
    overrule(&Settings::memory_leak_threshold_mb, policy.memory_leak_threshold_mb);
    overrule(&Settings::batch_size_reduction_factor, policy.batch_size_reduction_factor);
  };
  // A variable that is a setting's, too, has had its say there.
  sources.environment = [](const char* name) -> const char* {
    const auto settings = settings_table();
    return std::any_of(settings.begin(), settings.end(),
                       [&](const Setting& setting) { return setting.environment() == name; })
               ? nullptr
               : std::getenv(name);
  };
  guard::Policy policy = guard::resolve_policy(sources);
  // A step cannot be left faster than a micro-batch ends: looking as often as the fastest program could fill memory
  // would cost more than it gives.
  policy.fastest_fill = 1e9;
  return policy;
}

proc::Roots limit_roots() {
  proc::Roots roots;
  if (const char* other = std::getenv("PLIMSOLL_PROC_ROOT"); other && *other) roots.proc = other;
  return roots;
}

FittedWay fitted_way(const Settings& settings, int vocab, std::optional<guard::Policy>& policy) {
  const int threads = thread_count(settings);
  const uint64_t line = parse_size(settings.memory).of(machine_memory().total);
  const uint64_t overhead = process_overhead(settings);
  const Way wanted = choose(settings, vocab, threads, line, overhead);
  const auto room = find_room(policy, wanted.bytes() + overhead);
  if (!room || wanted.bytes() + overhead <= room->undisturbed) return {wanted, ""};
  const uint64_t least = smallest(settings, vocab, threads).bytes() + overhead;
  if (least <= room->undisturbed)
    return {choose(settings, vocab, threads, room->undisturbed, overhead),
            fmt::format("{} instead of --memory {}: {}{}", format_bytes(room->undisturbed), settings.memory,
                        policy ? "the guard would reduce a larger run; " : "", room->where)};
  if (!raise_lines(policy, least))
    fail_input(
        "--memory {} cannot be used: {}, and this run needs {} bytes at least; free memory, or give {}{}",
        settings.memory, room->where, least, smaller_run(settings),
        policy && least <= room->unguarded ? ", or --guard off" : "");
  return {choose(settings, vocab, threads, least, overhead),
          fmt::format("{} instead of --memory {}, the least this run needs, and the guard acts at {:g} % "
                      "instead of {:g} %: {}",
                      format_bytes(least), settings.memory, policy->memory_threshold_percentage,
                      guard::Policy{}.memory_threshold_percentage, room->where)};
}

void refuse_what_cannot_fit(const Settings& settings, int vocab, const std::optional<guard::Policy>& policy,
                            uint64_t plan_bytes) {
  const auto room = find_room(policy, plan_bytes);
  if (!room) return;
  const uint64_t overhead = process_overhead(settings);
  const uint64_t needed = plan_bytes + overhead;
  if (needed <= room->most) return;
  std::string advice;
  try {
    const uint64_t left = room->most;
    const uint64_t budget = std::max<uint64_t>(whole_megabytes(left), std::min<uint64_t>(left, 1'000'000));
    const Way way = choose(settings, vocab, thread_count(settings), budget, overhead);
    advice = fmt::format("give --memory {}MB ({})", budget / 1'000'000, way.text());
  } catch (const InputError&) {
    const Way least = smallest(settings, vocab, thread_count(settings));
    advice = fmt::format("the minimum is {}; free memory, or give {}",
                         format_bytes(least.plan_bytes + overhead), smaller_run(settings));
  }
  fail_input("this run needs {} and {}; {}{}", format_bytes(needed), room->where, advice,
             policy && needed <= room->unguarded ? ", or --guard off" : "");
}

}  // namespace plimsoll
