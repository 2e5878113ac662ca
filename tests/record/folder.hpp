// A temporary folder, removed at the end of a test.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace plimsoll::test {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-record-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

}  // namespace plimsoll::test
