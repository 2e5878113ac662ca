#include "heap/waker.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "heap/format.hpp"
#include "platform/machine.hpp"
#include "platform/shared_file.hpp"

namespace plimsoll::heap {
namespace {

std::string pages_folder() { return fmt::format("{}{}", wake_folder, platform::user_id()); }

}  // namespace

bool Waker::wish(int pid, bool on) const {
  const platform::OwnFile file(fmt::format("{}/{}", pages_folder(), pid));
  WakePage page{};
  if (!file.ok() || file.read(0, &page, sizeof page) != sizeof page ||
      std::memcmp(page.magic, wake_magic, sizeof wake_magic) != 0 || page.version != wake_version ||
      page.pid != uint32_t(pid) || folder_.size() >= sizeof page.folder)
    return false;
  page.generation |= 1;
  page.on = on;
  page.rate = rate_;
  std::memset(page.folder, 0, sizeof page.folder);
  std::memcpy(page.folder, folder_.data(), folder_.size());
  // The generation is odd before anything else changes, and even after everything has.
  constexpr size_t at = offsetof(WakePage, generation);
  if (!file.write(at, &page.generation, sizeof page.generation) ||
      !file.write(at + sizeof page.generation, &page.on, sizeof page - at - sizeof page.generation))
    return false;
  ++page.generation;
  if (page.generation == 0) page.generation = 2;
  return file.write(at, &page.generation, sizeof page.generation);
}

bool Waker::wake(int pid) {
  if (woken_.contains(pid)) return true;
  if (!wish(pid, true)) return false;
  woken_.insert(pid);
  return true;
}

Waker::~Waker() {
  for (const int pid : woken_) wish(pid, false);
}

void remove_stale_pages() {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(pages_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc{} || read.ptr != name.data() + name.size() || platform::process_lives(pid))
      continue;
    std::error_code ignored;
    std::filesystem::remove(entry->path(), ignored);
  }
}

}  // namespace plimsoll::heap
