#include "checkpoint/manifest.hpp"

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view format_name = "plimsoll-checkpoint";
constexpr uint64_t format_version = 1;
constexpr std::string_view checksum_name = "xxh3-128";
constexpr uint64_t largest_manifest = 16'000'000;
constexpr std::string_view seal_before = "  \"manifest_checksum\": \"", seal_after = "\"\n}\n";

// Puts text behind text in a buffer known to be large enough.
class Appender {
 public:
  explicit Appender(std::span<char> out) : out_(out) {}
  Appender& operator<<(std::string_view text) {
    if (text.size() > out_.size() - used_)
      std::abort();  // capacity() is wrong: a fault of ours, not of the input
    std::memcpy(out_.data() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  Appender& operator<<(uint64_t number) {
    char digits[24];
    return *this << std::string_view(
               digits, static_cast<size_t>(std::to_chars(digits, digits + 24, number).ptr - digits));
  }
  std::string_view text() const { return {out_.data(), used_}; }

 private:
  std::span<char> out_;
  size_t used_ = 0;
};

ChecksumText checksum_from(const nlohmann::json& value) {
  const std::string& text = value.get_ref<const std::string&>();
  ChecksumText checksum;
  if (text.size() != checksum.size()) fail_input("a checksum has {} characters", text.size());
  std::memcpy(checksum.data(), text.data(), checksum.size());
  return checksum;
}

uint64_t number_from(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) fail_input("a number is expected where something else is");
  return value.get<uint64_t>();
}

ManifestFile file_from(const nlohmann::json& value, const char* name) {
  ManifestFile file;
  file.name = value.at("name").get<std::string>();
  if (file.name != name) fail_input("file '{}' stands where '{}' is expected", shown(file.name), name);
  file.bytes = number_from(value.at("bytes"));
  file.checksum = checksum_from(value.at("checksum"));
  if (!file.has_header()) return file;
  file.header_checksum = checksum_from(value.at("header_checksum"));
  for (const nlohmann::json& tensor : value.at("tensors"))
    file.tensors.push_back({tensor.at("name").get<std::string>(), checksum_from(tensor.at("checksum"))});
  return file;
}

Manifest manifest_from(const nlohmann::json& root) {
  Manifest manifest;
  if (root.at("format") != format_name) fail_input("its format is not {}", format_name);
  if (root.at("version") != format_version || root.at("checksum_kind") != checksum_name)
    fail_input("its version is not {} with {}; it was written by another release", format_version,
               checksum_name);
  manifest.step = number_from(root.at("step"));
  if (!root.at("best_step").is_null()) manifest.best_step = number_from(root.at("best_step"));
  const nlohmann::json& files = root.at("files");
  if (files.size() != manifest.files.size()) fail_input("it lists {} files, expected 3", files.size());
  for (size_t i = 0; i < manifest.files.size(); ++i)
    manifest.files[i] = file_from(files.at(i), checkpoint_files[i]);
  return manifest;
}

}  // namespace

StepName::StepName(uint64_t step, const char* before, const char* after) {
  auto end = fmt::format_to_n(text_.data(), text_.size() - 1, "{}step-{:06}{}", before, step, after).out;
  *end = '\0';
}

std::optional<uint64_t> step_of(std::string_view name, const char* before, const char* after) {
  std::string_view digits = name;
  auto take = [&digits](std::string_view part, bool front) {
    if (front ? !digits.starts_with(part) : !digits.ends_with(part)) return false;
    front ? digits.remove_prefix(part.size()) : digits.remove_suffix(part.size());
    return true;
  };
  if (!take(before, true) || !take("step-", true) || !take(after, false)) return {};
  uint64_t step = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return name == StepName(step, before, after).text() ? std::optional(step) : std::nullopt;
}

size_t Manifest::capacity() const {
  size_t bytes = 512;
  for (const ManifestFile& file : files) {
    bytes += 256 + file.name.size();
    for (const ManifestTensor& tensor : file.tensors) bytes += 96 + tensor.name.size();
  }
  return bytes;
}

std::string_view Manifest::render(std::span<char> out) const {
  Appender text(out);
  text << "{\n  \"format\": \"" << format_name << "\",\n  \"version\": " << format_version;
  text << ",\n  \"checksum_kind\": \"" << checksum_name << "\",\n  \"step\": " << step
       << ",\n  \"best_step\": ";
  best_step ? text << *best_step : text << "null";
  text << ",\n  \"files\": [";
  for (const ManifestFile& file : files) {
    text << (&file == &files[0] ? "" : ",") << "\n    {\"name\": \"" << file.name
         << "\", \"bytes\": " << file.bytes;
    text << ", \"checksum\": \"" << view(file.checksum) << "\"";
    if (file.has_header()) {
      text << ",\n     \"header_checksum\": \"" << view(file.header_checksum) << "\", \"tensors\": [";
      for (const ManifestTensor& tensor : file.tensors)
        text << (&tensor == &file.tensors[0] ? "" : ",") << "\n       {\"name\": \"" << tensor.name
             << "\", \"checksum\": \"" << view(tensor.checksum) << "\"}";
      text << "]";
    }
    text << "}";
  }
  text << "],\n" << seal_before;
  ChecksumText seal = checksum_of(text.text());
  return (text << view(seal) << seal_after).text();
}

Manifest parse_manifest(std::string_view text) {
  constexpr size_t seal_size = std::tuple_size_v<ChecksumText> + seal_after.size();
  if (text.size() < seal_before.size() + seal_size || !text.ends_with(seal_after))
    fail_input("it is truncated");
  std::string_view sealed = text.substr(0, text.size() - seal_size);
  if (!sealed.ends_with(seal_before) ||
      view(checksum_of(sealed)) != text.substr(sealed.size(), std::tuple_size_v<ChecksumText>))
    fail_input("its own checksum is wrong");
  try {
    return manifest_from(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception&) {
    fail_input("its structure is not that of a manifest");
  }
}

Manifest read_manifest(const std::filesystem::path& folder) {
  std::string text = read_file(folder / manifest_name, largest_manifest);
  try {
    return parse_manifest(text);
  } catch (const InputError& error) {
    fail_input("'{}' is damaged: {}", (folder / manifest_name).string(), error.what());
  }
}

}  // namespace plimsoll
