// A regular file mapped read-only. Its pages come and go with the page cache; nothing here is ever written.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace plimsoll {

class MappedFile {
 public:
  // InputError if the file is missing, unreadable or not a regular file. An empty file gives empty bytes.
  // The file must not be shortened while it is mapped: reading what is gone ends the process (SIGBUS).
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const unsigned char> bytes() const { return {data_, size_}; }
  // Gives the pages that hold any byte of [offset, offset + length), and what a fault there maps with them, back
  // to the page cache: they no longer count as memory of this process and are mapped again when next read.
  void drop(size_t offset, size_t length) const;
  // No reading ahead around a fault: what is touched is what is resident.
  void expect_random_access() const;
  // Reads every page now, so that memory does not grow while they are read later.
  void make_resident() const;
  // Asks for these bytes to be in the page cache soon; maps nothing.
  void read_ahead(size_t offset, size_t length) const;

 private:
  const unsigned char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace plimsoll
