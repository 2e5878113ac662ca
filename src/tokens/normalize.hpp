// Unicode normalization as tokenizers ask for it.
#pragma once
#include <string>
#include <string_view>

namespace plimsoll::tokens {

enum class Form { as_is, nfc, nfkc };

// Whether normalizing would leave the text as it is, as far as a look at each character can tell: false may be
// wrong, true is not. `text` is UTF-8.
bool is_surely_normal(std::string_view text, Form form);
std::string normalize(std::string_view text, Form form);

}  // namespace plimsoll::tokens
