#include "platform/memory_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr long tmpfs_magic = 0x01021994;  // of statfs(2); memfd and /dev/shm are tmpfs, too

}  // namespace

MemoryFiles::MemoryFiles(const proc::Files& files) : proc_(files.roots().proc) {
  std::string text;
  if (files.read("self/mountinfo", text, 1 << 20) != proc::Read::ok) return;
  for (const proc::Mount& mount : proc::parse_mountinfo(text))
    if (mount.type == "tmpfs" && mount.point != "/") mounts_.push_back(mount.point + "/");
}

// Asked before the file itself is: one on a network that does not answer must not hold us up.
bool MemoryFiles::in_memory(std::string_view path) const {
  return path.starts_with("/memfd:") || std::any_of(mounts_.begin(), mounts_.end(), [&](const auto& mount) {
           return path.starts_with(mount);
         });
}

std::optional<MemoryFile> MemoryFiles::at(const char* path) {
  struct statfs system;
  struct stat file;
  if (statfs(path, &system) != 0 || system.f_type != tmpfs_magic) return std::nullopt;
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  return MemoryFile{file.st_dev, file.st_ino, uint64_t(file.st_blocks) * 512, {}};
}

void MemoryFiles::each_open(int pid, const std::function<void(const MemoryFile&)>& each) const {
  std::array<char, 128> folder_path;
  std::array<char, 512> target;
  *fmt::format_to_n(folder_path.data(), folder_path.size() - 1, "{}/{}/fd", proc_, pid).out = '\0';
  const int folder = open(folder_path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(dirent64) char entries[4096];
  ssize_t got;
  while ((got = getdents64(folder, entries, sizeof entries)) > 0)
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      struct stat link;  // its permissions are those the file was opened with
      if (entry->d_name[0] == '.' || fstatat(folder, entry->d_name, &link, AT_SYMLINK_NOFOLLOW) != 0 ||
          !(link.st_mode & S_IWUSR))
        continue;
      const ssize_t length = readlinkat(folder, entry->d_name, target.data(), target.size());
      if (length <= 0 || !in_memory({target.data(), size_t(length)})) continue;
      std::array<char, 160> path;
      *fmt::format_to_n(path.data(), path.size() - 1, "{}/{}", folder_path.data(), entry->d_name).out = '\0';
      if (auto file = MemoryFiles::at(path.data())) {
        file->path = {target.data(), size_t(length)};
        each(*file);
      }
    }
  close(folder);
}

}  // namespace plimsoll
