// A file without a name for what does not belong into memory: written once from front to back, read anywhere, and gone
// with the process. It lies in $TMPDIR, else in /var/tmp, which unlike /tmp is rarely memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::platform {

class ScratchFile {
 public:
  // Error where there is no folder to make it in.
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // Error where the disk is full.
  void append(std::span<const std::byte> bytes);
  // Exactly these bytes; any number of threads may. Allocates nothing. Error where they cannot be read.
  void read(uint64_t offset, std::span<std::byte> out) const;
  uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace plimsoll::platform
