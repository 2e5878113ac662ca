// A regular file mapped read-only. Its pages belong to the page cache; nothing is ever written.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace plimsoll {

class MappedFile {
 public:
  // InputError if the file is missing, unreadable or not a regular file. An empty file gives empty bytes.
  // The file must not be shortened while it is mapped: reading what is gone ends the process (SIGBUS).
  // With `keep_open`, read() works; it takes a descriptor.
  explicit MappedFile(const std::string& path, bool keep_open = false);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const unsigned char> bytes() const { return {data_, size_}; }
  // Copies bytes from `offset` on without mapping them, so that they never count as memory of this process; returns how
  // many. Only of a file that was kept open; Error where it cannot be read any more.
  size_t read(size_t offset, std::span<unsigned char> out) const;
  bool can_read() const { return descriptor_ >= 0; }
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
  int descriptor_ = -1;
};

}  // namespace plimsoll
