// JSON that came from outside. Every parser of ours goes through here: nesting is bounded, because what walks
// a parsed value (printing, copying) recurses into it.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace plimsoll {

inline constexpr int deepest_json = 100;

// Whether brackets outside of strings nest deeper than `most`; linear, whatever the text is.
bool nests_deeper(std::string_view text, int most = deepest_json);

// The value, or a discarded one (is_discarded()) where `text` is not JSON or nests too deep.
template <typename Json = nlohmann::json>
Json parse_json(std::string_view text) {
  if (nests_deeper(text)) return Json(nlohmann::json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace plimsoll
