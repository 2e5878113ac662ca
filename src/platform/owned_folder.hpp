// Temporary folders that cannot stay behind for ever: each is locked while its owner lives, and making one removes
// those whose owner was killed.
#pragma once
#include <string>

namespace plimsoll::platform {

class OwnedFolder {
 public:
  // Makes "PLACE/plimsoll-WHAT-XXXXXX", readable by this user only. ok() is false, with errno set, where that is
  // impossible.
  OwnedFolder(const std::string& place, const std::string& what);
  OwnedFolder(OwnedFolder&& other) noexcept;
  OwnedFolder& operator=(OwnedFolder&& other) noexcept;
  // Gives up the lock. Removing the folder is the owner's business.
  ~OwnedFolder();

  bool ok() const { return lock_ >= 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

// Removes folders of that name in `place` that are provably nobody's: made by this user, for this user only, at least
// `age_seconds` ago, not locked, with nothing but files and sockets in them. Gives how many.
int remove_abandoned(const std::string& place, const std::string& what, double age_seconds = 600);

}  // namespace plimsoll::platform
