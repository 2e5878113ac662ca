// `--metrics FILE`: one JSON object per line for each step and evaluation. Each line is appended with a
// single write, so a reader never sees half a line. Nothing allocates or throws after opening.
#pragma once
#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "record/rows.hpp"

namespace plimsoll {

class MetricsFile {
 public:
  // Appends to `path`, creating it; InputError if that cannot be done. A torn last line of a crash is closed
  // first.
  explicit MetricsFile(const std::filesystem::path& path);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // {"type":"step","step":1,"time":0.5,"loss":3.2,…}; what is not known, NaN or infinite is null.
  void step(const StepRow& row) noexcept;
  void evaluation(const EvaluationRow& row) noexcept;

  // Why the last line could not be written; empty while all is well.
  std::string_view error() const noexcept { return {error_}; }

 private:
  void append(const char* line, size_t length) noexcept;
  AppendFile file_;
  char error_[256] = {};
};

}  // namespace plimsoll
