#include "data/text_files.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr size_t most_files = 30'000;  // Linux allows a process about twice as many mappings

struct Kind {
  std::string_view mark, name, advice;
};
using namespace std::string_view_literals;
constexpr Kind other_kinds[] = {{"\x1F\x8B"sv, "a gzip file", "decompress it first"},
                                {"\x28\xB5\x2F\xFD"sv, "a Zstandard file", "decompress it first"},
                                {"\3757zXZ\0"sv, "an xz file", "decompress it first"},
                                {"BZh9"sv, "a bzip2 file", "decompress it first"},
                                {"PK\3\4"sv, "a ZIP file", "unpack it first"},
                                {"PAR1"sv, "a Parquet file", "write its rows as JSON Lines"},
                                {"ARROW1\0"sv, "an Arrow file", "write its rows as JSON Lines"},
                                {"SQLite format 3\0"sv, "an SQLite database", "write its rows as JSON Lines"},
                                {"%PDF-"sv, "a PDF file", "write its text as UTF-8"},
                                {"\xFF\xFE"sv, "UTF-16 text", "convert it to UTF-8"},
                                {"\xFE\xFF"sv, "UTF-16 text", "convert it to UTF-8"}};

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

void refuse_other_kinds(const std::string& path, std::span<const unsigned char> content) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  for (const Kind& kind : other_kinds)
    if (text.starts_with(kind.mark)) fail_input("[data] {}: it is {}; {}", path, kind.name, kind.advice);
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
