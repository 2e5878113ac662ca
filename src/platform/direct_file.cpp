#include "platform/direct_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace plimsoll::platform {
namespace {

constexpr uint64_t direct_block = 4096;

}  // namespace

DirectBuffer::DirectBuffer() {
  void* place =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (place == MAP_FAILED) fail("out of memory: {} bytes to read files through", bytes);
  data_ = static_cast<std::byte*>(place);
}

DirectBuffer::~DirectBuffer() { ::munmap(data_, bytes); }

DirectFile::DirectFile(const std::string& path, DirectBuffer& buffer) : buffer_(&buffer) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
  direct_ = descriptor_ >= 0;
  if (!direct_) descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    const int reason = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    fail_input("cannot read {}: {}", path,
               descriptor_ < 0 ? std::strerror(reason) : "it is not a regular file");
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

DirectFile::~DirectFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DirectFile::DirectFile(DirectFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      direct_(other.direct_),
      size_(other.size_),
      buffer_(other.buffer_) {}

int DirectFile::read(uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const uint64_t first = offset / direct_block * direct_block, skipped = offset - first;
    const uint64_t wanted = (skipped + out.size() + direct_block - 1) / direct_block * direct_block;
    const ssize_t got = ::pread(descriptor_, buffer_->data(), std::min<uint64_t>(wanted, DirectBuffer::bytes),
                                static_cast<off_t>(first));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && direct_) {  // some file systems take the flag and refuse the read
      direct_ = false;
      ::fcntl(descriptor_, F_SETFL, 0);
      continue;
    }
    if (got < 0) return errno;
    if (!direct_) ::posix_fadvise(descriptor_, static_cast<off_t>(first), got, POSIX_FADV_DONTNEED);
    if (static_cast<uint64_t>(got) <= skipped) return ENODATA;
    const uint64_t count = std::min<uint64_t>(out.size(), static_cast<uint64_t>(got) - skipped);
    std::memcpy(out.data(), buffer_->data() + skipped, count);
    out = out.subspan(count);
    offset += count;
  }
  return 0;
}

}  // namespace plimsoll::platform
