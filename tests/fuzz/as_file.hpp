// For parsers that take a path: a file that holds the input of a fuzz target, the same one every time.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace plimsoll::fuzz {

class AsFile {
 public:
  AsFile() : path_((std::filesystem::temp_directory_path() / "plimsoll-fuzz-XXXXXX").string()) {
    file_ = mkstemp(path_.data());
    if (file_ < 0) std::abort();
  }
  ~AsFile() {
    close(file_);
    unlink(path_.c_str());
  }
  AsFile(const AsFile&) = delete;
  AsFile& operator=(const AsFile&) = delete;

  const std::string& holding(const uint8_t* data, size_t size) {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return path_;
  }

 private:
  std::string path_;
  int file_;
};

}  // namespace plimsoll::fuzz
