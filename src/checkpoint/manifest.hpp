// The manifest of a checkpoint: its files, their sizes, and a checksum for each file, each
// header, each tensor and the manifest itself. docs/formats/checkpoint.md describes the
// format.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checksum.hpp"
#include "checkpoint/safetensors.hpp"

namespace plimsoll {

inline constexpr const char* model_name = "model.safetensors";
inline constexpr const char* optimizer_name = "optimizer.safetensors";
inline constexpr const char* state_name = "state.json";
inline constexpr const char* manifest_name = "manifest.json";
// Every file a checkpoint has, in the order in which they are written.
inline constexpr std::array checkpoint_files = {model_name, optimizer_name, state_name, manifest_name};

// The name of a checkpoint's folder, in a fixed buffer: `step-000100`, or with other ends `.step-000100.tmp`.
class StepName {
 public:
  explicit StepName(uint64_t step, const char* before = "", const char* after = "");
  const char* text() const { return text_.data(); }

 private:
  std::array<char, 48> text_;
};
// The step of a name made by StepName with the same ends; nothing for any other name.
std::optional<uint64_t> step_of(std::string_view name, const char* before = "", const char* after = "");

struct ManifestTensor {
  std::string name;
  ChecksumText checksum{};
};

struct ManifestFile {
  std::string name;
  uint64_t bytes = 0;
  ChecksumText checksum{};
  ChecksumText header_checksum{};  // of safetensors files only
  std::vector<ManifestTensor> tensors;
  bool has_header() const { return name != state_name; }
};

struct Manifest {
  uint64_t step = 0;
  std::optional<uint64_t> best_step;  // the best checkpoint of the run when this one was written
  std::array<ManifestFile, 3> files;  // model, optimizer, state

  // What render() can need at most.
  size_t capacity() const;
  // Writes the text without allocating; `out` has at least capacity() characters.
  std::string_view render(std::span<char> out) const;
};

// InputError, without a path, unless the text is a whole manifest whose own checksum is right.
Manifest parse_manifest(std::string_view text);
// The manifest of a checkpoint's folder; InputError when it is missing or damaged.
Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace plimsoll
