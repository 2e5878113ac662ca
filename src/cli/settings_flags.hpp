// The flags of all settings, generated from the settings table, for each command that describes a run.
#pragma once
#include "cli/options.hpp"
#include "train/settings_sources.hpp"

namespace plimsoll::cli {

// Adds --small [N] and its like, --config and one flag a setting. `sources` must outlive the parsing.
void add_settings(Options& flags, SettingsSources& sources);

}  // namespace plimsoll::cli
