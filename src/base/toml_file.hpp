// A TOML file of flat keys: each value as text with its type and the line it stands in.
#pragma once
#include <string>
#include <vector>

namespace plimsoll {

struct TomlValue {
  enum class Type { text, integer, real, boolean, other };
  std::string key, text, where;  // where: "guard.toml line 3"; control characters of a key are blanks
  Type type = Type::other;
  std::string words;  // what it is: "a string", "an array"
};

// InputError for what cannot be read, is larger than 1 MiB or is not TOML.
std::vector<TomlValue> read_toml(const std::string& path);

}  // namespace plimsoll
