// A file read past the page cache, so that what is read often and is larger than memory does not fill it. Where the file
// system cannot do that, pages are dropped after they have been read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plimsoll::platform {

// 1 MiB that files are read through, resident from the start.
class DirectBuffer {
 public:
  static constexpr size_t bytes = 1 << 20;  // fits a core's cache

  DirectBuffer();
  ~DirectBuffer();
  DirectBuffer(const DirectBuffer&) = delete;
  DirectBuffer& operator=(const DirectBuffer&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

class DirectFile {
 public:
  // InputError where it cannot be opened. Takes a descriptor. Files that are read in turn share a buffer, which must outlive them.
  DirectFile(const std::string& path, DirectBuffer& buffer);
  ~DirectFile();
  DirectFile(DirectFile&& other) noexcept;
  DirectFile& operator=(DirectFile&&) = delete;

  // Exactly these bytes; 0, or an errno code (ENODATA where the file ends before). Allocates nothing; one call at a time of all
  // files with the same buffer.
  [[nodiscard]] int read(uint64_t offset, std::span<std::byte> out);
  uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  bool direct_ = false;
  uint64_t size_ = 0;
  DirectBuffer* buffer_;
};

}  // namespace plimsoll::platform
