// Memory that processes of one machine have in common: a file without a name, which the others open through /proc. It is gone
// with the last of them, however they end.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace plimsoll::platform {

class SharedPages {
 public:
  explicit SharedPages(
      size_t bytes);  // zero, each page resident from its first touch on; Error where there is no room
  // Those that another process made and keeps; nothing where they cannot be opened.
  static std::optional<SharedPages> open(int pid, int descriptor, size_t bytes);
  ~SharedPages();
  SharedPages(SharedPages&& other) noexcept;
  SharedPages& operator=(SharedPages&&) = delete;

  std::byte* data() const { return data_; }
  int descriptor() const { return descriptor_; }

 private:
  SharedPages(int descriptor, size_t bytes);
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// The same for processes that can see each other's numbers and memory: one boot of one machine, and no container's wall
// between them.
std::string shared_world();
// Other processes of this user may read this one's memory, even where the system lets only debuggers do so.
void let_memory_be_read();

}  // namespace plimsoll::platform
