// The sources of settings and their precedence: command line, environment, TOML file, checkpoint (when
// resuming), preset, default.
//
//   SettingsSources sources;                       // filled by the command line's parser
//   Settings settings = resolve(sources);          // checked, or InputError
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/settings.hpp"

namespace plimsoll {

struct SettingsSources {
  struct PresetFlag {  // `--small` or `--small 5000`
    std::string name;
    std::optional<std::string> iterations;
  };
  std::vector<PresetFlag> presets;
  std::map<std::string, std::string> command_line;  // a setting's name and its text as typed
  std::string config;                               // --config; without it PLIMSOLL_CONFIG
  // The value of an environment variable or null; empty counts as not set.
  std::function<const char*(const char*)> environment = [](const char* name) { return getenv(name); };
};

// In rising order of strength.
enum class Source { fallback, preset, checkpoint, file, environment, command_line };

// A value's origin, for people: "default", "preset small", "run.toml line 3", "PLIMSOLL_LAYERS", "--layers",
// "4 x dim".
struct Origin {
  Source source = Source::fallback;
  std::string where = "default";
};

struct Resolved {
  Settings settings;
  std::map<std::string, Origin> origins;  // of every setting by name
};

// `saved` are the settings of the checkpoint a run continues; compare with first_difference afterwards. The
// result has passed `validate`.
Resolved trace(const SettingsSources& sources, const Settings* saved = nullptr);
Settings resolve(const SettingsSources& sources, const Settings* saved = nullptr);
// Only what is to be resumed, before anything else can be checked; empty for a new run.
std::string resume_path(const SettingsSources& sources);

}  // namespace plimsoll
