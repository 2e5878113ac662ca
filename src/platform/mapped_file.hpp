// A regular file mapped read-only. Its pages belong to the page cache; nothing is ever written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plimsoll {

class MappedFile {
 public:
  // InputError if the file is missing, unreadable or not a regular file. An empty file gives empty bytes.
  // The file must not be shortened while it is mapped: reading what is gone ends the process (SIGBUS).
  // With `keep_open` it keeps a descriptor for read().
  explicit MappedFile(const std::string& path, bool keep_open = false);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const unsigned char> bytes() const { return {data_, size_}; }
  // Copies bytes from `offset` on without mapping them, so that they never count as memory of this process and no page has
  // to be given back; returns how many. A file that was not kept open is opened for it. Error where it cannot be read any more.
  size_t read(size_t offset, std::span<unsigned char> out) const;
  // Gives the pages that hold any byte of [offset, offset + length), and what a fault there maps with them, back
  // to the page cache: they no longer count as memory of this process and are mapped again when next read.
  void drop(size_t offset, size_t length) const;
  // No reading ahead around a fault: what is touched is what is resident.
  void expect_random_access() const;
  // Reads every page now, so that memory does not grow while they are read later.
  void make_resident();
  // Bytes of all files of this process that were made resident.
  static uint64_t resident_bytes();
  // Asks for these bytes to be in the page cache soon; maps nothing.
  void read_ahead(size_t offset, size_t length) const;

 private:
  int open_again() const;

  const unsigned char* data_ = nullptr;
  size_t size_ = 0;
  bool resident_ = false;
  int descriptor_ = -1;
  std::string path_;  // of a file that is not kept open
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace plimsoll
