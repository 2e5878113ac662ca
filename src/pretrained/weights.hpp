// The weights of a published model: model.safetensors, or shards named by model.safetensors.index.json. Opening reads the
// headers alone and checks them against the model: shapes, missing and unexpected tensors, dtypes.
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "checkpoint/checksum.hpp"
#include "checkpoint/safetensors.hpp"
#include "model/spec.hpp"

namespace plimsoll {

// A tensor of the files under the name the model has for it.
struct PretrainedTensor {
  size_t file = 0;      // of files()
  std::string in_file;  // its name there
  std::vector<int64_t> shape;
  DType dtype = DType::f32;
  uint64_t offset = 0;  // of its first byte in the file
  uint64_t bytes = 0;
};

class PretrainedWeights {
 public:
  // InputError for a folder whose files are not all the tensors of such a model and no others.
  PretrainedWeights(const std::filesystem::path& folder, const ModelSpec& spec);

  const std::vector<std::filesystem::path>& files() const { return files_; }
  // By the model's name; InputError where there is none.
  const PretrainedTensor& operator[](std::string_view name) const;
  bool has(std::string_view name) const { return tensors_.contains(std::string(name)); }
  // The tensors of a file in the order of their bytes, those the model leaves aside included. `name` is the model's, or
  // empty.
  struct Part {
    std::string name;
    SafetensorsEntry entry;
  };
  const std::vector<Part>& parts(size_t file) const { return parts_[file]; }

  // Reads every byte of every file once, fills the slots, widening where a slot is f32, and returns the checksum of all
  // files. InputError where a file is no longer what it was, or a tied head is not the embedding.
  // `each` gets the checksum of every tensor by its name.
  ChecksumText load(std::span<const TensorSlot> slots,
                    std::unordered_map<std::string, ChecksumText>* each = nullptr) const;

 private:
  void open(const std::filesystem::path& folder);
  void match(const ModelSpec& spec);

  std::string folder_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::vector<Part>> parts_;  // by file
  std::vector<uint64_t> sizes_;           // of the files
  std::unordered_map<std::string, PretrainedTensor> tensors_;
  std::string embedding_;  // its name, where the files also hold it as the head of a tied model
};

}  // namespace plimsoll
