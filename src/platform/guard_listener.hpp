// The client side of `plimsoll guard`: how a program receives its requests and replies. docs/guard.md
// describes the messages.
//
//   GuardListener listener;                      // by PLIMSOLL_SOCKET; does nothing if there is no guard
//   while (auto level = listener.next())         // "shrink", "warn", "ok", ...
//     if (*level == "shrink") listener.shrunk(give_back());
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace plimsoll {

class GuardListener {
 public:
  explicit GuardListener(const char* path = std::getenv("PLIMSOLL_SOCKET"));
  ~GuardListener();
  GuardListener(const GuardListener&) = delete;
  GuardListener& operator=(const GuardListener&) = delete;

  bool connected() const { return descriptor_ >= 0; }
  // The level of the next message waiting; never blocks or allocates, valid until the next call.
  std::optional<std::string_view> next();
  // How many bytes the last request to shrink has brought; 0: there is nothing left to give.
  void shrunk(uint64_t bytes);
  void step(int64_t step);

 private:
  void send(std::string_view text);
  int descriptor_ = -1;
  std::array<char, 1024> buffer_;
};

}  // namespace plimsoll
