// The actions of a guard as the JSON of docs/guard.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "diagnose/sites.hpp"
#include "watch/action_log.hpp"

namespace plimsoll::watch {

struct GuardSummary {
  guard::Level highest = guard::Level::ok;
  uint64_t peak_tree = 0, limit = 0, readings = 0;
  bool stopped = false;
  double seconds = 0;
  uint64_t own_peak = 0, own_resident = 0;
  std::optional<uint64_t> allocations;  // while guarding; nullopt where they are not counted
};

// With `sites` also the lines of docs/profile.md.
std::string guard_json(const GuardSummary& summary, const ActionLog& log, const diagnose::SiteReport* sites);

}  // namespace plimsoll::watch
