// Listens to a guard outside: where PLIMSOLL_SOCKET names its socket, the run says that it can shrink and obeys the
// lines {"guard":"shrink"} and {"guard":"grow"} that come back.
#pragma once
#include <string_view>

namespace plimsoll {

class GuardRequests {
 public:
  enum class Asked { nothing, shrink, grow };

  // Without a path there is nobody to listen to; one that cannot be reached is nobody either.
  explicit GuardRequests(const char* path);
  ~GuardRequests();
  GuardRequests(const GuardRequests&) = delete;
  GuardRequests& operator=(const GuardRequests&) = delete;

  bool listening() const { return descriptor_ >= 0; }
  // The newest request waiting. Never blocks, never allocates.
  Asked next() const;
  // One line as it comes; anything but ours asks for nothing.
  static Asked parse(std::string_view line);

 private:
  int descriptor_ = -1;
};

}  // namespace plimsoll
