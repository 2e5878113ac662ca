// Cuts text into the pieces that byte-pair encoding works on: the patterns of known tokenizers as loops. Each
// pattern matches something at every place, so the pieces follow each other without a gap.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace plimsoll::tokens {

// The bytes of the first piece of UTF-8 text that is not empty.
using Scanner = size_t (*)(std::string_view text);

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t scan_gpt2(std::string_view text);
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t scan_llama3(std::string_view text);
// The same with one \p{N} instead of up to three.
size_t scan_qwen2(std::string_view text);

// The scanner of a regular expression as tokenizer.json writes it; nullptr for one that is not known.
Scanner find_scanner(std::string_view pattern);

}  // namespace plimsoll::tokens
