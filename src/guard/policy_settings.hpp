// The one description of every key of the policy (base/option.hpp says what follows from a row). The trainer
// and `plimsoll guard` share it.
#pragma once
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
};
// Command line over environment over file over default; each value checked by itself.
Policy read_policy(const PolicySources& sources);
// The same, and the lines against each other.
Policy resolve_policy(const PolicySources& sources);

}  // namespace plimsoll::guard
