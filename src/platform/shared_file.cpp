#include "platform/shared_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll::platform {
namespace {

size_t read_at(int descriptor, uint64_t offset, void* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(descriptor, static_cast<char*>(to) + done, bytes - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += size_t(got);
  }
  return done;
}

}  // namespace

SharedFile::SharedFile(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  if (descriptor_ < 0) fail_input("{}: cannot be read ({})", path, error_text(errno));
  struct stat info;
  if (fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor_);
    fail_input("{}: not a regular file", path);
  }
}

SharedFile::~SharedFile() { close(descriptor_); }

uint64_t SharedFile::size() const {
  struct stat info;
  return fstat(descriptor_, &info) == 0 ? uint64_t(info.st_size) : 0;
}

size_t SharedFile::read(uint64_t offset, void* to, size_t bytes) const {
  return read_at(descriptor_, offset, to, bytes);
}

OwnFile::OwnFile(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  struct stat info;
  if (descriptor_ >= 0 && fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_uid == geteuid() && (info.st_mode & 077) == 0)
    return;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

OwnFile::~OwnFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

size_t OwnFile::read(uint64_t offset, void* to, size_t bytes) const {
  return read_at(descriptor_, offset, to, bytes);
}

bool OwnFile::write(uint64_t offset, const void* from, size_t bytes) const {
  return pwrite(descriptor_, from, bytes, off_t(offset)) == ssize_t(bytes);
}

LockedFile::LockedFile(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX) == 0) return;
  const int code = errno;
  if (descriptor_ >= 0) close(descriptor_);
  fail("cannot lock {} ({})", path, error_text(code));
}

LockedFile::~LockedFile() { close(descriptor_); }

}  // namespace plimsoll::platform
