// The components of tokenizer.json around its model: normalizer, pre-tokenizer, post-processor, decoder.
#pragma once
#include <nlohmann/json.hpp>

#include "tokens/tokenizer_file.hpp"

namespace plimsoll::tokens {

// Each takes null for none, and refuses what it does not know by its name.
void read_normalizer(const nlohmann::json& component, TokenizerFile& file);
void read_pre_tokenizer(const nlohmann::json& component, TokenizerFile& file);
void read_post_processor(const nlohmann::json& component, TokenizerFile& file);
void read_decoder(const nlohmann::json& component);

// A value of the file for a message, quoted once.
std::string quote_value(const nlohmann::json& value);
[[noreturn]] void refuse_component(const char* kind, const nlohmann::json& type);
// A key that is true, false, null or left out.
bool flag(const nlohmann::json& object, const char* key, bool otherwise);

}  // namespace plimsoll::tokens
