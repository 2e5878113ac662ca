// Arbitrary bytes as a model.safetensors.index.json: refused with a message of one line, or names of files of the folder,
// each once, among which every tensor has one.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "pretrained/shard_index.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const ShardIndex index = parse_shard_index({reinterpret_cast<const char*>(data), size});
    require(!index.files.empty() && index.files.size() <= index.file_of.size());
    require(std::adjacent_find(index.files.begin(), index.files.end(), std::greater_equal<>()) ==
            index.files.end());
    for (const std::string& file : index.files) require(!file.empty() && file.find('/') == file.npos);
    for (const auto& [tensor, file] : index.file_of)
      require(std::binary_search(index.files.begin(), index.files.end(), file));
  } catch (const InputError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
