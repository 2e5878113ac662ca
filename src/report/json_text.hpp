// Writes JSON directly as text, because large tables of numbers would be slow as a tree of objects.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::report {

class JsonText {
 public:
  // Commas come by themselves.
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& key(std::string_view name);
  JsonText& text(std::string_view value);  // bytes that are not UTF-8 are replaced, < > & are \u escapes
  JsonText& integer(int64_t value);
  JsonText& count(int64_t value);                // negative: null
  JsonText& real(double value, int digits = 7);  // not finite: null
  JsonText& seconds(double value);               // to the millisecond
  JsonText& null();
  JsonText& raw(std::string_view json);  // already JSON
  std::string take() { return std::move(out_); }

 private:
  void separate();
  std::string out_;
  bool fresh_ = true;  // nothing yet since the last bracket or key
};

// The same escapes on JSON that is whole already: inside JSON these characters stand in strings only.
std::string safe_in_html(std::string_view json);

}  // namespace plimsoll::report
