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

void refuse_what_cannot_fit(const Settings& settings, int vocab, const std::optional<guard::Policy>& policy,
                            uint64_t plan_bytes) {
  const uint64_t resident = OwnMemory().resident(), overhead = process_overhead(resident);
  Headroom headroom(proc::Files(limit_roots()), platform::own_pid());
  const Headroom::State now = headroom.read(plan_bytes);
  if (now.limit == 0) return;
  const uint64_t line = policy ? policy->lines(now.limit).pause : now.limit;
  const uint64_t others = now.used - std::min(now.used, resident);
  uint64_t left = line - std::min(line, others);
  std::string where = fmt::format("{} of {}'s {} are left{}", format_bytes(left), headroom.name(now.source),
                                  format_bytes(now.limit), policy ? " below the pause line" : "");
  if (policy && policy->max_memory) {
    const uint64_t most = policy->lines(policy->max_memory->of(now.limit)).pause;
    if (most < left)
      left = most, where = fmt::format("{} is the pause line of max_memory", format_bytes(most));
  }
  const uint64_t needed = plan_bytes + overhead;
  if (needed <= left) return;
  std::string advice;
  try {
    const uint64_t budget = std::max<uint64_t>(whole_megabytes(left), std::min<uint64_t>(left, 1'000'000));
    const Way way = choose(settings, vocab, thread_count(settings), budget, overhead);
    advice = fmt::format("give --memory {}MB ({})", budget / 1'000'000, way.text());
  } catch (const InputError&) {
    const Way least = smallest(settings, vocab, thread_count(settings));
    advice = fmt::format("the minimum is {}; free memory, or give {}",
                         format_bytes(least.plan_bytes + overhead), smaller_run(settings));
  }
  fail_input("this run needs {} and {}; {}{}", format_bytes(needed), where, advice,
             policy && needed <= now.limit - std::min(now.limit, others) ? ", or --guard off" : "");
}

}  // namespace plimsoll
