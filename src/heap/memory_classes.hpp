// Classifies the memory of a process by its smaps: PSS by the purpose of each mapping.
#pragma once
#include <cstdint>
#include <string_view>

namespace plimsoll::heap {

struct MemoryClasses {
  uint64_t anonymous = 0;  // the heap and everything else that belongs to allocators
  uint64_t file = 0;       // mapped files: programs, libraries, data
  uint64_t shared = 0;     // shared memory
  uint64_t stack = 0;      // of the first thread and of threads as glibc maps them
  uint64_t other = 0;      // what the kernel maps, and the profile's own file
  MemoryClasses& operator+=(const MemoryClasses& more) {
    anonymous += more.anonymous, file += more.file, shared += more.shared;
    stack += more.stack, other += more.other;
    return *this;
  }
  uint64_t sum() const { return anonymous + file + shared + stack + other; }
};

class SmapsClassifier {
 public:
  void add_line(std::string_view line);
  const MemoryClasses& classes() const { return classes_; }

 private:
  void begin_mapping(std::string_view line);

  MemoryClasses classes_;
  uint64_t* into_ = nullptr;
  uint64_t guard_end_ = 0;  // where a mapping ended that nobody may touch, small enough to guard a stack
};

}  // namespace plimsoll::heap
