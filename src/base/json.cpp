#include "base/json.hpp"

#include <unordered_set>

namespace plimsoll {
namespace {

class TwiceFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::optional<std::string> twice;

  bool key(std::string& name) override {
    if (open_.back().insert(name).second) return true;
    twice = std::move(name);
    return false;
  }
  bool start_object(size_t) override { return open_.emplace_back(), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::vector<std::unordered_set<std::string>> open_;  // the keys of the objects around
};

// Whether `is` holds for a character outside of strings, asked from the first on.
template <typename Is>
bool any_mark(std::string_view text, Is is) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && is(c))
      return true;
  }
  return false;
}

}  // namespace

bool nests_deeper(std::string_view text, int most) {
  int depth = 0;
  return any_mark(text, [&](char c) {
    if (c == '[' || c == '{') return ++depth > most;
    if (c == ']' || c == '}') --depth;
    return false;
  });
}

bool has_more_values(std::string_view text, size_t most) {
  size_t count = 0;
  return any_mark(text, [&](char c) { return (c == '[' || c == '{' || c == ',') && ++count > most; });
}

template <typename Json>
Json parse_json(std::string_view text) {
  // The library takes a NUL for the end, whatever follows it.
  if (text.find('\0') != text.npos || nests_deeper(text)) return Json(nlohmann::json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}
template nlohmann::json parse_json(std::string_view);
template nlohmann::ordered_json parse_json(std::string_view);

std::optional<std::string> key_twice(std::string_view text) {
  TwiceFinder finder;
  nlohmann::json::sax_parse(text, &finder);
  return finder.twice;
}

}  // namespace plimsoll
