// A policy as a TOML file: flat keys, each value as text with the place it stands.
#pragma once
#include <string>
#include <vector>

namespace plimsoll::guard {

struct FileValue {
  std::string key, text, where;  // where: "guard.toml line 3"
};
// InputError for what cannot be read, is no TOML, or has a value that is neither text nor a number.
std::vector<FileValue> read_policy_file(const std::string& path);

}  // namespace plimsoll::guard
