// Native stacks of the calling thread. No frame is asked of a library: rules are read from .eh_frame and cached.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plimsoll::heap {

struct NativeStack {
  static constexpr size_t most = 160;
  size_t depth;
  uintptr_t frames[most];  // return addresses, innermost first; those of this library are left out
};

// Ends before the first frame of Python's interpreter loop where `stop_at_python`: what lies outside is told by
// Python's own frames.
void walk_native(NativeStack& stack, bool stop_at_python);

// Reads words of the stack that begins at `from` without ever faulting.
class StackReader {
 public:
  explicit StackReader(uintptr_t from);
  bool word(uintptr_t address, uintptr_t& word) const {
    if (address < begin_ || address % sizeof(uintptr_t) != 0) return false;
    if (address + sizeof word > end_) return end_ == begin_ && word_through_kernel(address, word);
    word = *reinterpret_cast<const uintptr_t*>(address);
    return true;
  }

 private:
  bool word_through_kernel(uintptr_t address, uintptr_t& word) const;
  uintptr_t begin_, end_;  // equal: the stack is not the thread's own
};

// How to get from one frame to the one that called it.
struct Rule {
  enum Cfa : uint8_t { none, at_stack, at_base, through_base };  // none: the walk ends here
  enum Base : uint8_t { same, below_cfa, at_offset_of_base };
  Cfa cfa;
  Base base;
  bool python;         // the function is Python's interpreter loop
  int32_t cfa_offset;  // less than 2^22 either way
  int32_t base_offset;
};
Rule find_rule(uintptr_t address);

}  // namespace plimsoll::heap
