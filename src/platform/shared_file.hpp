// Files shared by two processes: one is read while the other writes it, one is locked as a sign of life.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll::platform {

// A regular file, never followed through a symbolic link.
class SharedFile {
 public:
  explicit SharedFile(const std::string& path);  // InputError when it cannot be read
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  uint64_t size() const;  // now; 0 where it cannot be told
  // As many bytes as there are; fewer at the end of the file or where reading fails.
  size_t read(uint64_t offset, void* to, size_t bytes) const;

 private:
  int descriptor_;
};

// A file of this user that nobody else may touch, to be written in place; never followed through a symbolic link.
class OwnFile {
 public:
  explicit OwnFile(const std::string& path);
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  bool ok() const { return descriptor_ >= 0; }  // there is such a file
  size_t read(uint64_t offset, void* to, size_t bytes) const;
  bool write(uint64_t offset, const void* from, size_t bytes) const;

 private:
  int descriptor_;
};

// A new file, locked as long as this object lives; the kernel lets go of it however this process ends.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path);  // Error when it is there already or cannot be made
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

 private:
  int descriptor_;
};

}  // namespace plimsoll::platform
