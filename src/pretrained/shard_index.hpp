// model.safetensors.index.json: which files hold the weights of a published model, and which of them has which tensor.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plimsoll {

struct ShardIndex {
  std::vector<std::string> files;                        // each once, in the order of their names
  std::unordered_map<std::string, std::string> file_of;  // by tensor
};

// InputError, without a path, for anything but {"weight_map": {tensor: file of the folder}}; other keys are ignored.
ShardIndex parse_shard_index(std::string_view json);

}  // namespace plimsoll
