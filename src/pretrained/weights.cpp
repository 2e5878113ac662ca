#include "pretrained/weights.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "model/families.hpp"
#include "platform/direct_file.hpp"
#include "pretrained/shard_index.hpp"
#include "tensor/half.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";
constexpr std::string_view head_name = "lm_head.weight";
constexpr uint64_t largest_index = 16'000'000;
constexpr size_t load_buffer = size_t{1} << 20;

ShardIndex read_index(const fs::path& path) {
  const std::string text = read_file(path, largest_index);
  try {
    return parse_shard_index(text);
  } catch (const InputError& error) {
    fail_input("{}: {}", path.string(), error.what());
  }
}

// The model's name of a tensor: files of GPT-2 have a prefix or none.
std::string_view model_name_of(std::string_view name, const ModelSpec& spec) {
  constexpr std::string_view prefix = "transformer.";
  return spec.family == "gpt2" && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// Buffers that older files hold and no computation needs, and the copy of a tied head.
bool left_aside(std::string_view name, const ModelSpec& spec) {
  if (spec.tied && name == head_name) return true;
  if (spec.family == "gpt2") return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  return name.ends_with(".rotary_emb.inv_freq");
}

DType dtype_of(const SafetensorsEntry& entry, const std::string& file) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    if (entry.dtype == safetensors_name(dtype)) return dtype;
  fail_input("{}: tensor '{}' is {}, which is not supported; F32, BF16 and F16 are", file, shown(entry.name),
             shown(entry.dtype));
}

}  // namespace

PretrainedWeights::PretrainedWeights(const fs::path& folder, const ModelSpec& spec)
    : folder_(folder.string()) {
  open(folder);
  match(spec);
}

void PretrainedWeights::open(const fs::path& folder) {
  std::error_code ignored;
  ShardIndex index;
  const bool sharded = !fs::exists(folder / single_name, ignored) && fs::exists(folder / index_name, ignored);
  if (sharded)
    index = read_index(folder / index_name);
  else if (fs::exists(folder / single_name, ignored))
    index.files = {single_name};
  else
    fail_input("--model {}: there is neither {} nor {} in it{}", folder_, single_name, index_name,
               fs::exists(folder / "pytorch_model.bin", ignored) ||
                       fs::exists(folder / "pytorch_model.bin.index.json", ignored)
                   ? "; convert its pytorch_model.bin: transformers' save_pretrained() writes safetensors"
                   : "");
  size_t found = 0;
  for (const std::string& name : index.files) {
    const SafetensorsFile file(folder / name);
    files_.push_back(folder / name);
    sizes_.push_back(file.size());
    auto& parts = parts_.emplace_back();
    for (const SafetensorsEntry& entry : file.header().tensors) {
      const auto listed = index.file_of.find(entry.name);
      if (sharded && (listed == index.file_of.end() || listed->second != name))
        fail_input("{}: it has tensor '{}', which {} does not list there", files_.back().string(),
                   shown(entry.name), index_name);
      parts.push_back({"", entry});
      parts.back().entry.begin += file.header_bytes().size();
      parts.back().entry.end += file.header_bytes().size();
      ++found;
    }
  }
  if (sharded && found != index.file_of.size())
    for (const auto& [tensor, name] : index.file_of) {
      const auto at = size_t(std::find(index.files.begin(), index.files.end(), name) - index.files.begin());
      if (std::none_of(parts_[at].begin(), parts_[at].end(),
                       [&wanted = tensor](const Part& part) { return part.entry.name == wanted; }))
        fail_input("{}: tensor '{}' is missing, which {} lists there", files_[at].string(), shown(tensor),
                   index_name);
    }
}

void PretrainedWeights::match(const ModelSpec& spec) {
  ModelSpec plain = spec;
  plain.storage = nullptr;
  plain.lora = nullptr;
  Graph graph;
  const auto model = make_model(graph, plain);
  std::unordered_map<std::string_view, const Type*> wanted;
  for (const Parameter& p : model->parameters()) wanted[graph[p.id].name] = &graph[p.id].type;
  for (size_t f = 0; f < parts_.size(); ++f)
    for (Part& part : parts_[f]) {
      const std::string_view name = model_name_of(part.entry.name, spec);
      const auto found = wanted.find(name);
      if (found == wanted.end()) {
        if (spec.tied && name == head_name)
          for (const auto& [other, type] : wanted)
            if (other.ends_with("embed_tokens.weight") || other == "wte.weight") embedding_ = other;
        if (left_aside(name, spec)) continue;
        fail_input("{}: tensor '{}' belongs to no part of a {} model of this config.json", files_[f].string(),
                   shown(part.entry.name), spec.family);
      }
      const Shape& shape = found->second->shape;
      bool same = int(part.entry.shape.size()) == shape.rank();
      for (int i = 0; same && i < shape.rank(); ++i) same = part.entry.shape[size_t(i)] == shape[i];
      if (!same)
        fail_input("{}: tensor '{}' is [{}], its config.json needs {}", files_[f].string(),
                   shown(part.entry.name), fmt::join(part.entry.shape, ", "), shape.text());
      part.name = name;
      if (!tensors_
               .emplace(part.name, PretrainedTensor{f, part.entry.name, part.entry.shape,
                                                    dtype_of(part.entry, files_[f].string()),
                                                    part.entry.begin, part.entry.bytes()})
               .second)
        fail_input("{}: tensor '{}' is in the files twice", files_[f].string(), shown(part.entry.name));
    }
  for (const Parameter& p : model->parameters())
    if (!tensors_.contains(graph[p.id].name))
      fail_input("--model {}: tensor '{}' is missing", folder_, graph[p.id].name);
}

const PretrainedTensor& PretrainedWeights::operator[](std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  if (found == tensors_.end()) fail_input("--model {}: it has no tensor '{}'", folder_, name);
  return found->second;
}

ChecksumText PretrainedWeights::load(std::span<const TensorSlot> slots,
                                     std::unordered_map<std::string, ChecksumText>* each) const {
  std::unordered_map<std::string_view, const TensorSlot*> places;
  for (const TensorSlot& slot : slots) places[slot.name] = &slot;
  const auto buffer = std::make_unique<std::byte[]>(load_buffer);
  platform::DirectBuffer direct;
  Checksum checksum;
  std::optional<ChecksumText> tied_head, embedded;
  for (size_t f = 0; f < files_.size(); ++f) {
    platform::DirectFile file(files_[f].string(), direct);
    if (file.size() != sizes_[f]) fail_input("{}: it has changed since it was opened", files_[f].string());
    auto read = [&](uint64_t offset, std::byte* to, size_t bytes) {
      if (const int code = file.read(offset, {to, bytes}))
        fail_input("{} cannot be read: {}", files_[f].string(), error_text(code));
      checksum.update(to, bytes);
    };
    const uint64_t header = parts_[f].empty() ? sizes_[f] : parts_[f].front().entry.begin;
    for (uint64_t done = 0; done < header;) {
      const auto bytes = size_t(std::min<uint64_t>(load_buffer, header - done));
      read(done, buffer.get(), bytes);
      done += bytes;
    }
    for (const Part& part : parts_[f]) {
      const auto place = part.name.empty() ? places.end() : places.find(part.name);
      const TensorSlot* slot = place == places.end() ? nullptr : place->second;
      const DType from = slot ? (*this)[part.name].dtype : DType::u8;
      const bool straight = slot && slot->dtype == from;
      const bool head = !embedding_.empty() && part.name.empty() && part.entry.name.ends_with(head_name);
      const bool compared = head || (!embedding_.empty() && part.name == embedding_);
      Checksum own;
      int64_t element = 0;
      for (uint64_t done = 0; done < part.entry.bytes();) {
        const auto bytes = size_t(std::min<uint64_t>(load_buffer, part.entry.bytes() - done));
        std::byte* to = straight ? static_cast<std::byte*>(slot->data) + done : buffer.get();
        read(part.entry.begin + done, to, bytes);
        if (each || compared) own.update(to, bytes);
        done += bytes;
        if (!slot || straight) continue;
        if (slot->dtype != DType::f32)
          fail("[pretrained] {} is to be read as {}", part.name, name_of(slot->dtype));
        const auto count = int64_t(bytes / size_of(from));
        for (int64_t i = 0; i < count; ++i)
          static_cast<float*>(slot->data)[element + i] = widened(buffer.get(), from, i);
        element += count;
      }
      if (each && !part.name.empty()) (*each)[part.name] = own.text();
      if (compared) (head ? tied_head : embedded) = own.text();
    }
  }
  if (tied_head && embedded && view(*tied_head) != view(*embedded))
    fail_input(
        "--model {}: its lm_head.weight differs from {}, while 'tie_word_embeddings' says they are one; set "
        "it to "
        "false in config.json",
        folder_, embedding_);
  return checksum.text();
}

}  // namespace plimsoll
