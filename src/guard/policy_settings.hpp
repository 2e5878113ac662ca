// Describes every key of the policy once. Its flag (--pause-bound), environment variable
// (PLIMSOLL_PAUSE_BOUND), TOML key (pause_bound), validation, help and documentation in docs/guard.md follow
// from its row. The trainer and `plimsoll guard` share it.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "guard/policy.hpp"

namespace plimsoll::guard {

struct PolicyKey {
  enum class Kind { size, number, duration };
  const char* name;
  Kind kind;
  std::optional<Size> Policy::*size;  // where `kind` is size, else the other one
  double Policy::*number;
  const char* wanted;  // placeholder: "SIZE", "X", "TIME"
  const char* help;
  double least = 0, most = 0;  // numbers and durations: inclusive bounds

  std::string flag() const;         // --pause-bound
  std::string environment() const;  // PLIMSOLL_PAUSE_BOUND
};

std::span<const PolicyKey> policy_keys();
const PolicyKey* find_policy_key(std::string_view name);

// Sets the field from text; InputError begins with `where` ("--pause-bound", "guard.toml line 3, pause_bound").
void assign(const PolicyKey& key, Policy& policy, std::string_view text, std::string_view where);
// As `assign` reads it; empty for a line that follows memory_threshold_percentage.
std::string text_of(const PolicyKey& key, const Policy& policy);
// InputError when two lines contradict each other.
void validate(const Policy& policy);

struct PolicySources {
  std::map<std::string, std::string> command_line;  // a key's name and its text as typed
  std::string file;                                 // TOML; empty: none
  // The value of an environment variable or null; empty counts as not set.
  std::function<const char*(const char*)> environment = [](const char* name) { return getenv(name); };
  // What the caller knows as values already; it wins over all of the above.
  std::function<void(Policy&)> given = {};
};
// Given values over command line over environment over file over default.
Policy resolve_policy(const PolicySources& sources);

}  // namespace plimsoll::guard
