#include "checkpoint/load.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/error.hpp"
#include "checkpoint/checksum.hpp"
#include "checkpoint/manifest.hpp"

namespace plimsoll {
namespace {

constexpr size_t buffer_bytes = size_t{1} << 20;
constexpr uint64_t largest_state = 256'000'000;  // a tokenizer's vocabulary may be in it
constexpr const char* advice = "use another checkpoint or start a new run";

// A safetensors file whose size and header are as the manifest says.
class CheckedFile {
 public:
  CheckedFile(const std::filesystem::path& folder, const ManifestFile& entry)
      : path_((folder / entry.name).string()), entry_(entry), file_(folder / entry.name) {
    if (file_.size() != entry.bytes)
      fail_input("'{}' is damaged: it has {} bytes, its manifest says {}; {}", path_, file_.size(),
                 entry.bytes, advice);
    if (checksum_of(file_.header_bytes()) != entry.header_checksum)
      fail_input("'{}' is damaged: the checksum of its header is wrong; {}", path_, advice);
    if (file_.header().tensors.size() != entry.tensors.size())
      fail_input("'{}' is damaged: it has {} tensors, its manifest says {}; {}", path_,
                 file_.header().tensors.size(), entry.tensors.size(), advice);
    whole_.update(file_.header_bytes().data(), file_.header_bytes().size());
  }

  std::vector<Destination> match(std::span<const TensorSlot> slots) const {
    return match_slots(file_.header(), slots, path_);
  }

  // Reads the data into `places`, each the part of it that is wanted; all of it is read and checked.
  void read(std::span<const Destination> places) {
    std::unique_ptr<char[]> nowhere;
    const auto whole = [&](size_t i) {
      return !places.empty() && places[i].begin == 0 && places[i].end == file_.header().tensors[i].bytes();
    };
    for (size_t i = 0; i < entry_.tensors.size(); ++i)
      if (!nowhere && !whole(i)) nowhere = std::make_unique<char[]>(buffer_bytes);
    for (size_t i = 0; i < entry_.tensors.size(); ++i) {
      const SafetensorsEntry& tensor = file_.header().tensors[i];
      char* place = whole(i) ? reinterpret_cast<char*>(places[i].data) : nullptr;
      Checksum checksum;
      for (uint64_t done = 0; done < tensor.bytes();) {
        size_t bytes = static_cast<size_t>(std::min<uint64_t>(buffer_bytes, tensor.bytes() - done));
        char* to = place ? place + done : nowhere.get();
        file_.read(to, bytes);
        checksum.update(to, bytes);
        whole_.update(to, bytes);
        if (!place && !places.empty()) copy_part(places[i], done, to, bytes);
        done += bytes;
      }
      if (tensor.name != entry_.tensors[i].name || checksum.text() != entry_.tensors[i].checksum)
        fail_input("'{}' is damaged: the checksum of tensor '{}' is wrong; {}", path_, shown(tensor.name),
                   advice);
    }
    if (whole_.text() != entry_.checksum)
      fail_input("'{}' is damaged: its checksum is wrong; {}", path_, advice);
  }

 private:
  // What of the bytes from `first` on goes to the destination.
  static void copy_part(const Destination& to, uint64_t first, const char* data, size_t bytes) {
    const uint64_t begin = std::max(first, to.begin), end = std::min(first + bytes, to.end);
    if (begin < end) std::memcpy(to.data + (begin - to.begin), data + (begin - first), end - begin);
  }

  std::string path_;
  const ManifestFile& entry_;
  SafetensorsFile file_;
  Checksum whole_;
};

std::string checked_state(const std::filesystem::path& folder, const ManifestFile& entry) {
  std::string path = (folder / state_name).string();
  std::string state = read_file(path, largest_state);
  if (state.size() != entry.bytes)
    fail_input("'{}' is damaged: it has {} bytes, its manifest says {}; {}", path, state.size(), entry.bytes,
               advice);
  if (checksum_of(state) != entry.checksum)
    fail_input("'{}' is damaged: its checksum is wrong; {}", path, advice);
  return state;
}

Manifest checked_manifest(const Checkpoint& checkpoint) {
  Manifest manifest = read_manifest(checkpoint.folder);
  if (manifest.step != checkpoint.step)
    fail_input("'{}' is damaged: its manifest is that of step {}; {}", checkpoint.folder.string(),
               manifest.step, advice);
  return manifest;
}

std::string verified_state(const Checkpoint& checkpoint) {
  Manifest manifest = checked_manifest(checkpoint);
  for (size_t i = 0; i < 2; ++i) CheckedFile(checkpoint.folder, manifest.files[i]).read({});
  return checked_state(checkpoint.folder, manifest.files[2]);
}

}  // namespace

std::vector<Checkpoint> list_checkpoints(const std::filesystem::path& run_folder) {
  std::vector<Checkpoint> found;
  std::error_code code;
  std::filesystem::directory_iterator entries(run_folder, code);
  if (code && code != std::errc::no_such_file_or_directory)
    fail_input("cannot read the run folder '{}': {}", run_folder.string(), code.message());
  if (code) return found;
  for (const auto& entry : entries)
    if (auto step = step_of(entry.path().filename().string())) found.push_back({entry.path(), *step});
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return found;
}

std::vector<Checkpoint> resolve(const std::filesystem::path& path) {
  std::error_code code;
  auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status))
    fail_input("cannot load a checkpoint from '{}': {}; give a run folder or a checkpoint", path.string(),
               code ? code.message() : "it does not exist");
  std::filesystem::path folder = std::filesystem::canonical(path, code);
  if (code)
    fail_input("cannot load a checkpoint from '{}': {}; give a run folder or a checkpoint", path.string(),
               code.message());
  if (!std::filesystem::is_directory(status)) folder = folder.parent_path();

  auto named = step_of(folder.filename().string());
  if (named) {
    // The one named stays the first choice; those before it are there in case it is damaged.
    std::vector<Checkpoint> found = list_checkpoints(folder.parent_path());
    std::erase_if(found, [&](const Checkpoint& each) { return each.step > *named; });
    return found;
  }
  if (std::filesystem::exists(folder / manifest_name, code)) return {{folder, read_manifest(folder).step}};
  // Someone else's weights: say what is wrong with the file itself if something is.
  if (path.extension() == ".safetensors" && std::filesystem::is_regular_file(status)) SafetensorsFile{path};
  if (!std::filesystem::is_directory(status))
    fail_input(
        "cannot load a checkpoint from '{}': there is no {} beside it; give a run folder or a checkpoint",
        path.string(), manifest_name);
  std::vector<Checkpoint> found = list_checkpoints(folder);
  if (found.empty())
    fail_input(
        "cannot load a checkpoint from '{}': no checkpoint is in it; give a run folder or a checkpoint",
        path.string());
  return found;
}

WholeCheckpoint newest_whole(std::span<const Checkpoint> candidates) {
  WholeCheckpoint found;
  for (const Checkpoint& candidate : candidates) {
    try {
      found.state = verified_state(candidate);
      found.checkpoint = candidate;
      return found;
    } catch (const InputError& error) {
      found.warnings.push_back(error.what());
    }
  }
  if (found.warnings.empty()) fail_input("there is no checkpoint to choose from");
  fail_input("none of {} checkpoints is intact: {}", candidates.size(), found.warnings.front());
}

void verify(const Checkpoint& checkpoint) { (void)verified_state(checkpoint); }

std::string read_state(const std::filesystem::path& folder) {
  return checked_state(folder, read_manifest(folder).files[2]);
}

void load(const Checkpoint& checkpoint, std::span<const TensorSlot> model,
          std::span<const TensorSlot> optimizer) {
  Manifest manifest = checked_manifest(checkpoint);
  CheckedFile model_file(checkpoint.folder, manifest.files[0]);
  std::vector<Destination> model_places = model_file.match(model);
  if (!optimizer.empty()) {
    CheckedFile optimizer_file(checkpoint.folder, manifest.files[1]);
    optimizer_file.read(optimizer_file.match(optimizer));
  }
  model_file.read(model_places);
}

}  // namespace plimsoll
