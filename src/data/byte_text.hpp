// The text side of a vision-language model that begins from nothing: a token a byte, and the tokens that stand around
// pictures and messages, with SmolVLM's names and template.
#pragma once
#include <string>

#include "data/model_text.hpp"

namespace plimsoll {

// As tokenizer.json has it.
std::string byte_tokenizer_json();
ModelText byte_model_text();
// The token in whose place a picture's features stand.
constexpr int32_t byte_picture_token = 256;

}  // namespace plimsoll
