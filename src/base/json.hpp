// JSON that came from outside. Every parser of ours goes through here: nesting is bounded, because what walks
// a parsed value (printing, copying) recurses into it.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr int deepest_json = 100;

// Whether brackets outside of strings nest deeper than `most`; linear, whatever the text is.
bool nests_deeper(std::string_view text, int most = deepest_json);

// Whether there are more commas and brackets outside of strings than `most`: each value costs memory however short it is.
bool has_more_values(std::string_view text, size_t most);

// The value, or a discarded one (is_discarded()) where `text` is not JSON or nests too deep.
// Json is nlohmann::json or nlohmann::ordered_json.
template <typename Json = nlohmann::json>
Json parse_json(std::string_view text);

// A key that an object of this JSON has more than once, the first in the text. In time and memory linear in the text, as
// parsing is: a callback of json::parse would look at all siblings of every container.
std::optional<std::string> key_twice(std::string_view text);

}  // namespace plimsoll
