// Lines of source files that a profile names, read for people. The files may be anything: they are read as text, bounded.
#pragma once
#include <string>
#include <vector>

namespace plimsoll::diagnose {

// One line without its indentation; empty where it cannot be read.
std::string source_line(const std::string& file, unsigned line);

// A Python function as it stands in its file.
struct FunctionSource {
  struct Line {
    unsigned number = 0;
    std::string text;  // with its indentation
  };
  std::vector<std::string> decorators;  // without indentation, the outermost first
  std::string head;                     // "def encode(self, key):"
  std::vector<Line> body;
};
// The function named `name` around a line; a qualified name counts by its last part. Empty where it is not found.
FunctionSource python_function(const std::string& file, unsigned line, const std::string& name);

}  // namespace plimsoll::diagnose
