// Describes every key of the policy once. Its flag, environment variable, TOML key, validation, help and
// documentation in docs/guard.md follow from its row (base/option.hpp). The trainer and `plimsoll guard` share it.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/option.hpp"
#include "guard/policy.hpp"

namespace plimsoll::guard {

using PolicyKey = Option<Policy>;
std::span<const PolicyKey> policy_keys();

// InputError when two lines contradict each other.
void validate(const Policy& policy);

struct PolicySources {
  std::map<std::string, std::string> command_line;  // a key's name and its text as typed
  std::string file;                                 // TOML; empty: none
  // The value of an environment variable or null; empty counts as not set.
  Environment environment = [](const char* name) { return getenv(name); };
  // What the caller knows as values already; it wins over all of the above.
  std::function<void(Policy&)> given = {};
};
// Given values over command line over environment over file over default.
Policy resolve_policy(const PolicySources& sources);

}  // namespace plimsoll::guard
