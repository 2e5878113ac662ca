// Opens safetensors files and copies their tensors to their destinations.
#include "checkpoint/safetensors.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"

namespace plimsoll {

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  std::string name = path.string();
  if (size() < 8) fail_input("'{}' is not a safetensors file: it has {} bytes", name, size());
  header_bytes_.resize(8);
  file_.read(header_bytes_.data(), 8);
  if (header_bytes_ == "version ")
    fail_input("'{}' is a Git LFS pointer, not the file itself; run `git lfs pull` in its folder", name);
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(header_bytes_[i])} << (8 * i);
  if (length > size() - 8)
    fail_input("'{}' is damaged: its header claims {} bytes, the file has {}", name, length, size());
  if (length > largest_header)
    fail_input("'{}' has a header of {} bytes; at most {} are accepted", name, length, largest_header);
  header_bytes_.resize(8 + length);
  file_.read(header_bytes_.data() + 8, length);
  try {
    header_ = parse_safetensors_header(std::string_view(header_bytes_).substr(8), size() - 8 - length);
  } catch (const InputError& error) {
    fail_input("'{}' is not a valid safetensors file: {}", name, error.what());
  }
}

uint64_t TensorSlot::held() const { return std::min(end, tensor_bytes(shape, dtype)) - begin; }

std::vector<Destination> match_slots(const SafetensorsHeader& header, std::span<const TensorSlot> slots,
                                     const std::string& file) {
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < header.tensors.size(); ++i) index[header.tensors[i].name] = i;
  std::vector<Destination> places(header.tensors.size());
  std::vector<bool> wanted(header.tensors.size());
  for (const TensorSlot& slot : slots) {
    auto found = index.find(slot.name);
    if (found == index.end())
      fail_input("'{}' is a checkpoint of another model: tensor '{}' is missing", file, slot.name);
    const SafetensorsEntry& tensor = header.tensors[found->second];
    if (tensor.shape != slot.shape)
      fail_input("'{}' is a checkpoint of another model: tensor '{}' has shape [{}], this model needs [{}]",
                 file, slot.name, fmt::join(tensor.shape, ", "), fmt::join(slot.shape, ", "));
    if (tensor.dtype != safetensors_name(slot.dtype))
      fail_input("'{}' cannot be loaded: tensor '{}' is {}, expected {}; convert it first", file, slot.name,
                 tensor.dtype, safetensors_name(slot.dtype));
    places[found->second] = {static_cast<std::byte*>(slot.data), slot.begin, slot.begin + slot.held()};
    wanted[found->second] = true;
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i])
      fail_input("'{}' is a checkpoint of another model: this model has no tensor '{}'", file,
                 shown(header.tensors[i].name));
  return places;
}

void load_safetensors(const std::filesystem::path& path, std::span<const TensorSlot> slots) {
  SafetensorsFile file(path);
  std::vector<Destination> places = match_slots(file.header(), slots, path.string());
  for (size_t i = 0; i < places.size(); ++i) file.read(places[i].data, file.header().tensors[i].bytes());
}

}  // namespace plimsoll
