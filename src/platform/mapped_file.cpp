#include "platform/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace plimsoll {

MappedFile::MappedFile(const std::string& path, bool keep_open) {
  // Non-blocking, so that a pipe is refused below instead of waited for.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail_input("[data] cannot open {}: {}; give a readable file", path, std::strerror(errno));
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    fail_input("[data] {} is not a regular file; give a text file or a directory of them", path);
  }
  void* place = nullptr;
  if (status.st_size > 0) place = ::mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, file, 0);
  const int reason = errno;
  if (keep_open && place != MAP_FAILED)
    descriptor_ = file;
  else
    ::close(file);
  if (place == MAP_FAILED) fail_input("[data] cannot map {}: {}", path, std::strerror(reason));
  data_ = static_cast<const unsigned char*>(place);
  size_ = status.st_size;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

size_t MappedFile::read(size_t offset, std::span<unsigned char> out) const {
  if (offset >= size_) return 0;
  out = out.first(std::min(out.size(), size_ - offset));
  for (;;) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) fail("[data] a file of the data has become shorter while it was in use");
    if (errno != EINTR) fail("[data] a file of the data cannot be read any more: {}", std::strerror(errno));
  }
}

void MappedFile::drop(size_t offset, size_t length) const {
  if (offset >= size_ || length == 0) return;
  // A fault maps more than its page: a block around it, or all of a large folio of the page cache, 2 MiB at most.
  constexpr size_t block = 2 << 20;
  const size_t first = offset / block * block;
  const size_t last =
      std::min(size_, (offset + std::min(length, size_ - offset) + block - 1) / block * block);
  ::madvise(const_cast<unsigned char*>(data_) + first, last - first, MADV_DONTNEED);
}

void MappedFile::read_ahead(size_t offset, size_t length) const {
  if (offset >= size_ || length == 0) return;
  static const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first = offset / page * page;
  const size_t last = offset + std::min(length, size_ - offset);
  ::madvise(const_cast<unsigned char*>(data_) + first, last - first, MADV_WILLNEED);
}

void MappedFile::make_resident() const {
  unsigned char touched = 0;
  for (size_t at = 0; at < size_; at += 4096) touched ^= const_cast<const volatile unsigned char&>(data_[at]);
  static_cast<void>(touched);
}

void MappedFile::expect_random_access() const {
  if (data_ != nullptr) ::madvise(const_cast<unsigned char*>(data_), size_, MADV_RANDOM);
}

}  // namespace plimsoll
