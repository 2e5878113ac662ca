// The flags of all settings, generated from the settings table, for each command that describes a run.
#pragma once
#include "cli/options.hpp"
#include "train/run_folder.hpp"
#include "train/settings_sources.hpp"

namespace plimsoll::cli {

// Adds --small [N] and its like, --config and one flag a setting. `sources` must outlive the parsing.
void add_settings(Options& flags, SettingsSources& sources);
// Adds --model, --context and --tokenizer, for commands that take a published model as it is.
void add_published(Options& flags, SettingsSources& sources);
// --memory and --stream of commands that load a model without training it.
void add_loading(Options& flags, std::string& memory, std::string& stream);
// The model of the run at `path`, where --model says only where the model it started from is now, or the published one where
// there is no run.
SavedModel run_or_published(const std::string& path, const SettingsSources& sources);

}  // namespace plimsoll::cli
