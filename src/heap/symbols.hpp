// Names and source lines of native addresses, looked up afterwards in the files that the process had mapped.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::heap {

// A file that a process had mapped.
struct SymbolFile {
  std::string path, build_id;
  auto operator<=>(const SymbolFile&) const = default;
};
struct SymbolAddress {
  SymbolFile file;
  uint64_t address = 0;
  auto operator<=>(const SymbolAddress&) const = default;
};

struct SourceFrame {
  std::string function;  // demangled; empty: not known
  std::string file;      // empty: not known
  unsigned line = 0;
};

class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The functions at an address of the file, those inlined into it first. One frame without names where nothing is
  // known: no such file, another build of it, or no libdw.
  const std::vector<SourceFrame>& at(const std::string& path, std::string_view build_id, uint64_t address);
  // Whether the files of all these are open. That takes seconds for a library of PyTorch's size: where they are not, a
  // thread opens them and looks these addresses up; `at` waits for it.
  bool ready(std::span<const SymbolAddress> wanted);
  // Why nothing can be known, or empty.
  static std::string_view missing();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::heap
