#include "platform/shared_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll::platform {

SharedPages::SharedPages(size_t bytes) : SharedPages(memfd_create("plimsoll", MFD_CLOEXEC), 0) {
  if (descriptor_ < 0 || ftruncate(descriptor_, off_t(bytes)) != 0)
    fail("cannot make memory to share with other processes ({})", error_text(errno));
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (place == MAP_FAILED) fail("cannot map memory shared with other processes ({})", error_text(errno));
  data_ = static_cast<std::byte*>(place), bytes_ = bytes;
}

SharedPages::SharedPages(int descriptor, size_t bytes) : descriptor_(descriptor), bytes_(bytes) {}

std::optional<SharedPages> SharedPages::open(int pid, int descriptor, size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  SharedPages pages(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK), 0);
  struct stat info;
  if (pages.descriptor_ < 0 || fstat(pages.descriptor_, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size != off_t(bytes))
    return std::nullopt;
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages.descriptor_, 0);
  if (place == MAP_FAILED) return std::nullopt;
  pages.data_ = static_cast<std::byte*>(place), pages.bytes_ = bytes;
  close(std::exchange(pages.descriptor_, -1));  // the mapping is enough
  return pages;
}

SharedPages::~SharedPages() {
  if (data_) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

SharedPages::SharedPages(SharedPages&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

std::string shared_world() {
  std::string world;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), world);
  for (const char* wall : {"/proc/self/ns/pid", "/proc/self/ns/net"}) {
    std::array<char, 64> text{};
    if (readlink(wall, text.data(), text.size() - 1) < 0) return "";
    world += text.data();
  }
  return world;
}

void let_memory_be_read() {
  // Refused where the kernel has no such rule: then there is nothing to lift.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace plimsoll::platform
