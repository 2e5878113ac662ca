#include "platform/owned_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace plimsoll::platform {
namespace {

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : fdopendir(copy);
  if (!entries) {
    if (copy >= 0) close(copy);
    return names;
  }
  while (const dirent* entry = readdir(entries))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.push_back(entry->d_name);
  closedir(entries);
  return names;
}

// The folder is open and locked by us; a link or another user's folder never gets here.
bool remove_contents(int folder) {
  const std::vector<std::string> names = names_in(folder);
  for (const std::string& name : names) {
    struct stat is;
    if (fstatat(folder, name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISREG(is.st_mode) || S_ISSOCK(is.st_mode)))
      return false;
  }
  for (const std::string& name : names)
    if (unlinkat(folder, name.c_str(), 0) != 0) return false;
  return true;
}

}  // namespace

OwnedFolder::OwnedFolder(const std::string& place, const std::string& what) {
  remove_abandoned(place, what);
  path_ = place + "/plimsoll-" + what + "-XXXXXX";
  if (!mkdtemp(path_.data())) return;
  lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (lock_ >= 0)
    flock(lock_, LOCK_EX | LOCK_NB);  // a file system without locks only means that it may stay behind
}

OwnedFolder::OwnedFolder(OwnedFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

OwnedFolder& OwnedFolder::operator=(OwnedFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

OwnedFolder::~OwnedFolder() {
  if (lock_ >= 0) close(lock_);
}

int remove_abandoned(const std::string& place, const std::string& what, double age_seconds) {
  const int in = open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (in < 0) return 0;
  const std::string prefix = "plimsoll-" + what + "-";
  int removed = 0;
  for (const std::string& name : names_in(in)) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 6) continue;
    const int folder = openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) continue;
    struct stat is;
    const bool ours = fstat(folder, &is) == 0 && is.st_uid == geteuid() && (is.st_mode & 07777) == 0700;
    if (ours && std::difftime(std::time(nullptr), is.st_ctime) >= age_seconds &&
        flock(folder, LOCK_EX | LOCK_NB) == 0 && remove_contents(folder) &&
        unlinkat(in, name.c_str(), AT_REMOVEDIR) == 0)
      ++removed;
    close(folder);
  }
  close(in);
  return removed;
}

}  // namespace plimsoll::platform
