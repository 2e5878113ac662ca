// The description of a published model: its config.json, in the spellings of older and newer versions. What this program
// cannot compute is refused by the name of the key, before any weight is looked at.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "image/tiles.hpp"
#include "model/spec.hpp"

namespace plimsoll {

struct PretrainedConfig {
  std::string architecture;  // "LlamaForCausalLM"
  // Family, sizes and details; `context` is the longest the model was made for, and nothing is said of storage.
  ModelSpec spec;
  std::optional<PictureTokens> pictures = {};  // of a model that looks at them; known where a folder is read
};

// InputError, without a path, for anything that is not a model this program can compute exactly.
PretrainedConfig parse_config(std::string_view json);
// The same of DIR/config.json, with the path.
PretrainedConfig read_config(const std::filesystem::path& folder);
// What decides the numbers that the same weights give, as a JSON object by the keys of config.json. What the shapes of the
// weights or the pictures' tokens show is not in it.
std::string computation_of(const PretrainedConfig& config);
// Whether DIR/config.json describes a tower, known to this program or not.
bool looks_at_pictures(const std::filesystem::path& folder);

}  // namespace plimsoll
