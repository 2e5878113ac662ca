// Settings as JSON, the form in which they are saved with a run.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "train/settings.hpp"

namespace plimsoll {

// One key for every setting; numbers come back as the same bits.
nlohmann::json to_json(const Settings& settings);
// InputError for anything but an object of known settings of the right type and range. A key that is missing
// keeps its default: the setting is younger than the file.
Settings from_json(const nlohmann::json& json);

}  // namespace plimsoll
