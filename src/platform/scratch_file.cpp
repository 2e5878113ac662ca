#include "platform/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll::platform {
namespace {

std::string scratch_folder() {
  const char* given = std::getenv("TMPDIR");
  for (const char* folder : {given, "/var/tmp", "/tmp"})
    if (folder && *folder && ::access(folder, W_OK | X_OK) == 0) return folder;
  fail("there is no folder for temporary files; set TMPDIR to one that can be written");
}

int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return descriptor;
  std::string path = folder + "/plimsoll-XXXXXX";  // a file system without nameless files
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

}  // namespace

ScratchFile::ScratchFile() {
  const std::string folder = scratch_folder();
  descriptor_ = open_nameless(folder);
  if (descriptor_ < 0)
    fail("no temporary file can be made in {}: {}; set TMPDIR to another folder", folder, error_text(errno));
}

ScratchFile::~ScratchFile() { ::close(descriptor_); }

void ScratchFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      fail(
          "a temporary file cannot be written after {} bytes: {}; make room, or set TMPDIR to a folder with "
          "more",
          size_, error_text(written < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
}

void ScratchFile::read(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("a temporary file cannot be read: {}", error_text(got < 0 ? errno : ENODATA));
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
}

}  // namespace plimsoll::platform
