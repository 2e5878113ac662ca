// Parses one line of JSON as a sample: {"text": "…", "auth_weight": 0.1, "prov_entropy": 6.5}. It is parsed
// in place, without copying, allocating or throwing.
#pragma once
#include <cstddef>
#include <string_view>

#include "loss/distrust.hpp"

namespace plimsoll {

struct SampleLine {
  std::string_view text;  // between the quotes, its escapes as they were written
  Provenance provenance;
  bool has_authority = false, has_entropy = false;  // else the default stands
  const char* problem = nullptr;  // what is wrong with the line; the rest means nothing then
  size_t problem_at = 0;          // the byte it was seen at
};

// Strict JSON, one object: `text` is a string that is not empty, the others numbers in range, null or left out. Other
// keys may hold anything; of these three none may occur twice.
SampleLine parse_sample_line(std::string_view line) noexcept;

// The characters of a JSON string without its quotes, one after the other.
class JsonText {
 public:
  explicit JsonText(std::string_view raw = {}) : rest_(raw) {}
  // False at the end, and at what is not such a string: then problem() says why.
  bool next(char32_t& character) noexcept;
  const char* problem() const { return problem_; }
  std::string_view rest() const { return rest_; }

 private:
  bool escape(char32_t& character) noexcept;
  bool four_digits(char32_t& value) noexcept;
  bool refuse(const char* problem) noexcept {
    problem_ = problem;
    return false;
  }
  std::string_view rest_;
  const char* problem_ = nullptr;
};

}  // namespace plimsoll
