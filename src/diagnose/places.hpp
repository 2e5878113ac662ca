// Maps the stacks of a profiled process to places in source, and chooses the one to name: the innermost that
// belongs to the program itself and not to a library.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "heap/reader.hpp"
#include "heap/symbols.hpp"

namespace plimsoll::diagnose {

// Nothing here is escaped.
struct Place {
  std::string file;  // source, or the module where the source is not known
  std::string function;
  unsigned line = 0;  // 0: not known
  bool python = false;
  bool library = false;      // not the program's own code
  std::string text() const;  // train.py:57 train_step
};

class Places {
 public:
  // Without symbols native frames are files and addresses; with `own_only` those of system libraries are, since the
  // first look at the symbols of a large library can take seconds.
  Places(const heap::Reader& reader, heap::Symbols* symbols, bool own_only = false)
      : reader_(reader), symbols_(symbols), own_only_(own_only) {}
  // Innermost first; functions inlined into others are places of their own.
  std::vector<Place> stack(uint32_t site);

 private:
  const std::vector<Place>& of_frame(uint32_t frame);

  const heap::Reader& reader_;
  heap::Symbols* symbols_;
  bool own_only_;
  std::unordered_map<uint32_t, std::vector<Place>> known_;
};

// A line of Python.
Place python_place(std::string file, std::string function, unsigned line);

// Which place of a stack to name; the stack is not empty.
size_t place_to_name(const std::vector<Place>& stack);

}  // namespace plimsoll::diagnose
