#include "data/text_files.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr size_t most_files = 30'000;  // Linux allows a process about twice as many mappings

}  // namespace

std::vector<std::string> files_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->is_regular_file(ignored)) files.push_back(entry->path().string());
  if (error)
    fail_input("[data] cannot read the directory {}: {}; check its permissions", path, error.message());
  if (files.empty())
    fail_input("[data] the directory {} has no regular files; give a directory of text files", path);
  if (files.size() > most_files)
    fail_input("[data] {} has {} files, at most {} can be mapped; join them into larger files", path,
               files.size(), most_files);
  std::sort(files.begin(), files.end());
  return files;
}

uint64_t total_bytes(const std::vector<std::string>& files) {
  uint64_t total = 0;
  for (const std::string& name : files) {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(name, error);
    if (!error) total += bytes;
  }
  return total;
}

}  // namespace plimsoll
