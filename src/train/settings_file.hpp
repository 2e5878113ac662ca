// Settings from a TOML file: flat keys, each a name of the settings table.
#pragma once
#include <string>
#include <vector>

namespace plimsoll {

struct FileSetting {
  std::string name, text;  // text as `assign` reads it
  std::string where;       // "run.toml line 3"
};

// InputError with the line for what TOML does not allow, a key nobody knows (with the nearest that is known)
// and a value of the wrong type.
std::vector<FileSetting> read_settings_file(const std::string& path);

}  // namespace plimsoll
