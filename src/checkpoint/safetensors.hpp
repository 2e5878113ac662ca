// The safetensors format: eight bytes of header length (little-endian), a JSON header, then the tensors' data
// without gaps. Files written here can be opened by any other reader; files read here are not trusted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "tensor/dtype.hpp"

namespace plimsoll {

// A tensor to be saved; its elements belong to the caller.
struct TensorView {
  std::string name;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  DType dtype = DType::f32;
};

// A place a tensor is loaded into; its elements belong to the caller.
struct TensorSlot {
  std::string name;
  std::vector<int64_t> shape;
  void* data = nullptr;
  DType dtype = DType::f32;
  // The bytes of the tensor that are held here, at `data`; all of them unless said.
  uint64_t begin = 0, end = UINT64_MAX;

  uint64_t held() const;
};

struct SafetensorsEntry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes from the end of the header
  uint64_t bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Bytes of a tensor; InputError for a negative or overflowing shape.
uint64_t tensor_bytes(std::span<const int64_t> shape, DType dtype);
// What the format calls a dtype: F32, BF16, F16, I32, U8.
const char* safetensors_name(DType dtype);
// A name as error messages show it: no control characters, not longer than a line bears.
std::string shown(std::string_view name);

// The beginning of a file holding these tensors in this order: length, JSON, spaces up to a multiple of
// eight.
std::string make_safetensors_header(std::span<const TensorView> tensors);
// Parses the JSON of a header followed by `data_bytes` bytes; InputError, without the file's name, for any
// flaw.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes);

// A file whose header has been checked against its size. The data is then read once, front to back.
class SafetensorsFile {
 public:
  static constexpr uint64_t largest_header = 8'000'000;

  explicit SafetensorsFile(const std::filesystem::path& path);
  const SafetensorsHeader& header() const { return header_; }
  std::string_view header_bytes() const { return header_bytes_; }  // with the length in front
  uint64_t size() const { return file_.size(); }
  void read(void* data, size_t bytes) { file_.read(data, bytes); }

 private:
  InputFile file_;
  std::string header_bytes_;
  SafetensorsHeader header_;
};

// Where each tensor of the header goes; InputError naming the first difference, unless names, shapes and
// dtypes all match.
struct Destination {
  std::byte* data = nullptr;
  uint64_t begin = 0, end = 0;  // of the tensor's bytes, those that go there
};
std::vector<Destination> match_slots(const SafetensorsHeader& header, std::span<const TensorSlot> slots,
                                     const std::string& file);
// Loads a file that has no manifest: structure is checked, content cannot be.
void load_safetensors(const std::filesystem::path& path, std::span<const TensorSlot> slots);

}  // namespace plimsoll
