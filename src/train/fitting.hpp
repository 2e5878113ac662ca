// Checks before the start whether a run fits into memory, and derives the guard's policy from the settings.
#pragma once
#include <cstdint>
#include <optional>

#include "guard/policy.hpp"
#include "platform/proc.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// Nothing where the guard is off; InputError where the settings cannot be a policy.
std::optional<guard::Policy> guard_policy(const Settings& settings);

// Where memory and its limits are read: PLIMSOLL_PROC_ROOT names another /proc, for rehearsals.
proc::Roots limit_roots();

// InputError when a plan of `plan_bytes` does not fit what is left, naming the --memory that would: below the line at
// which the guard would pause it at once, or below the limit where there is no guard.
void refuse_what_cannot_fit(const Settings& settings, int vocab, const std::optional<guard::Policy>& policy,
                            uint64_t plan_bytes);

}  // namespace plimsoll
