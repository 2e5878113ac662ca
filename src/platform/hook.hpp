// Runs a user's command through the shell when something happens, without waiting for it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::platform {

class Hook {
 public:
  explicit Hook(std::string command);
  // The command finds PLIMSOLL_GUARD_LEVEL, PLIMSOLL_GUARD_REASON, PLIMSOLL_GUARD_USED, PLIMSOLL_GUARD_LIMIT and
  // PLIMSOLL_GUARD_PID in its environment. Returns its pid, which is its session too, or -1. Allocates nothing.
  int run(std::string_view level, std::string_view reason, uint64_t used, uint64_t limit, int pid);

 private:
  std::string command_;
  std::array<std::array<char, 320>, 5> variables_{};
  std::vector<char*> environment_;
};

}  // namespace plimsoll::platform
