#include "platform/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace plimsoll {
namespace {

std::atomic<uint64_t> all_resident{0};

}  // namespace

uint64_t MappedFile::resident_bytes() { return all_resident.load(); }

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
  if (!keep_open) path_ = path, device_ = status.st_dev, inode_ = status.st_ino;
  data_ = static_cast<const unsigned char*>(place);
  size_ = status.st_size;
}

MappedFile::~MappedFile() {
  if (resident_) all_resident.fetch_sub(size_);
  if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      resident_(std::exchange(other.resident_, false)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(other.inode_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(resident_, other.resident_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

// -1 where the path leads to another file by now, or to none.
int MappedFile::open_again() const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (file < 0 || (::fstat(file, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_))
    return file;
  ::close(file);
  return -1;
}

size_t MappedFile::read(size_t offset, std::span<unsigned char> out) const {
  if (offset >= size_) return 0;
  out = out.first(std::min(out.size(), size_ - offset));
  const int file = descriptor_ >= 0 ? descriptor_ : open_again();
  if (file < 0) {  // gone, but what is mapped is still there
    std::copy_n(data_ + offset, out.size(), out.begin());
    drop(offset, out.size());
    return out.size();
  }
  ssize_t got = 0;
  do got = ::pread(file, out.data(), out.size(), static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  const int reason = errno;
  if (file != descriptor_) ::close(file);
  if (got == 0) fail("[data] a file of the data has become shorter while it was in use");
  if (got < 0) fail("[data] a file of the data cannot be read any more: {}", std::strerror(reason));
  return static_cast<size_t>(got);
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

void MappedFile::make_resident() {
  if (!std::exchange(resident_, true)) all_resident.fetch_add(size_);
  unsigned char touched = 0;
  for (size_t at = 0; at < size_; at += 4096) touched ^= const_cast<const volatile unsigned char&>(data_[at]);
  static_cast<void>(touched);
}

void MappedFile::expect_random_access() const {
  if (data_ != nullptr) ::madvise(const_cast<unsigned char*>(data_), size_, MADV_RANDOM);
}

}  // namespace plimsoll
