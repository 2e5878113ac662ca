// Checks before the start whether a run fits into memory, and derives the guard's policy from the settings.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "guard/policy.hpp"
#include "platform/proc.hpp"
#include "train/settings.hpp"
#include "train/way.hpp"

namespace plimsoll {

// Nothing where the guard is off; InputError where the settings cannot be a policy.
std::optional<guard::Policy> guard_policy(const Settings& settings);

// Where memory and its limits are read: PLIMSOLL_PROC_ROOT names another /proc, for rehearsals.
proc::Roots limit_roots();

// The way below settings.memory. Where limits and the guard leave less than that, it is one that the guard lets run
// undisturbed; where none is that small, the smallest, and the guard's lines are raised above it unless they were set.
// `note` then says so in one line. InputError naming the least that would do.
struct FittedWay {
  Way way;
  std::string note;
};
FittedWay fitted_way(const Settings& settings, int vocab, std::optional<guard::Policy>& policy);

// InputError when a plan of `plan_bytes` does not fit what is left, naming the --memory that would: below the line at
// which the guard would pause it at once, or below the limit where there is no guard.
void refuse_what_cannot_fit(const Settings& settings, int vocab, const std::optional<guard::Policy>& policy,
                            uint64_t plan_bytes);

}  // namespace plimsoll
