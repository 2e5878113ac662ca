// The actions of a run's guard as JSON: {"level":…,"limit_bytes":…,"actions":[…],"stopped":…}.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "train/guard_log.hpp"

namespace plimsoll {

nlohmann::ordered_json guard_json(const GuardReport& report);

}  // namespace plimsoll
