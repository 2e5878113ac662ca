// A file read past the page cache, so that what is read often and is larger than memory does not fill it. Where the file
// system cannot do that, pages are dropped after they have been read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plimsoll::platform {

class DirectFile {
 public:
  // InputError where it cannot be opened. Takes a descriptor and a buffer of 1 MiB, which is never given back before the end.
  explicit DirectFile(const std::string& path);
  ~DirectFile();
  DirectFile(DirectFile&& other) noexcept;
  DirectFile& operator=(DirectFile&&) = delete;

  // Exactly these bytes; 0, or an errno code (ENODATA where the file ends before). Allocates nothing; one call at a time.
  [[nodiscard]] int read(uint64_t offset, std::span<std::byte> out);
  uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  bool direct_ = false;
  uint64_t size_ = 0;
  std::byte* buffer_ = nullptr;
};

}  // namespace plimsoll::platform
