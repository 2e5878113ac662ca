// A folder that is written as a whole or not at all.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll {

// A folder that gets its name when it is complete; what was begun and not finished is removed.
class NewFolder {
 public:
  explicit NewFolder(const std::filesystem::path& path)
      : path_(std::filesystem::absolute(path).lexically_normal()) {
    if (!path_.has_filename()) path_ = path_.parent_path();
    std::error_code error;
    if (std::filesystem::exists(path_, error))
      fail_input("{} exists already; name a folder that does not", path_.string());
    std::filesystem::create_directories(path_.parent_path(), error);
    temporary_ = make_temporary_folder(path_.parent_path() / ("." + path_.filename().string() + "-"));
    folder_ = Folder(temporary_);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
  }
  const Folder& open() const { return folder_; }
  void write(const std::string& name, std::string_view text) {
    OutputFile file;
    check(file.create(folder_, name.c_str()), name);
    check(file.write(text.data(), text.size()), name);
    check(file.sync_and_close(), name);
  }
  void finish() {
    check(folder_.sync(), "the folder");
    std::error_code error;
    std::filesystem::permissions(temporary_, std::filesystem::perms(0755), error);
    std::filesystem::rename(temporary_, path_, error);
    check(error.value(), "the folder");
    temporary_.clear();
  }
  void check(int code, std::string_view name) const {
    if (code) fail("cannot write {} of {}: {}", name, path_.string(), error_text(code));
  }

 private:
  std::filesystem::path path_, temporary_;
  Folder folder_;
};

}  // namespace plimsoll
