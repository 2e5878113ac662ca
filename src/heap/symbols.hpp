// Names and source lines of native addresses, looked up afterwards in the files that the process had mapped.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::heap {

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
  // Why nothing can be known, or empty.
  static std::string_view missing();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::heap
