#include "platform/shared_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll::platform {

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
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(descriptor_, static_cast<char*>(to) + done, bytes - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += size_t(got);
  }
  return done;
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
