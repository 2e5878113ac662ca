// A tokenizer.json small enough to be checked by hand: every byte, and a few words.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tokens/characters.hpp"

namespace plimsoll::tokens {

inline const char* const llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Bytes 0 to 255, then "th", "the", "Ġt", "Ġth", "Ġthe", "he"; <|end|> is added as 262.
inline nlohmann::json small_tokenizer() {
  nlohmann::json vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary[shown_byte(static_cast<unsigned char>(byte))] = byte;
  int next = 256;
  for (const char* token : {"th", "the", "Ġt", "Ġth", "Ġthe", "he"}) vocabulary[token] = next++;
  return {{"version", "1.0"},
          {"added_tokens", {{{"id", 262}, {"content", "<|end|>"}, {"special", true}, {"normalized", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocabulary},
            {"merges", {"t h", "h e", "th e", "Ġ t", "Ġ th", "Ġt h", "Ġth e"}}}}};
}

}  // namespace plimsoll::tokens
