#include "data/byte_text.hpp"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "tokens/characters.hpp"

namespace plimsoll {
namespace {

constexpr const char* added_to_bytes[] = {"<image>", "<fake_token_around_image>", "<global-img>",
                                          "<|im_start|>", "<end_of_utterance>"};
constexpr const char* last_of_answers = "<end_of_utterance>";

}  // namespace

std::string byte_tokenizer_json() {
  nlohmann::ordered_json vocabulary, added = nlohmann::ordered_json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[tokens::shown_byte(static_cast<unsigned char>(byte))] = byte;
  for (int id = byte_picture_token; const char* content : added_to_bytes)
    added.push_back({{"id", id++},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const nlohmann::ordered_json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const nlohmann::ordered_json file = {{"version", "1.0"},
                                       {"truncation", nullptr},
                                       {"padding", nullptr},
                                       {"added_tokens", added},
                                       {"normalizer", nullptr},
                                       {"pre_tokenizer", bytes},
                                       {"post_processor", nullptr},
                                       {"decoder", bytes},
                                       {"model",
                                        {{"type", "BPE"},
                                         {"dropout", nullptr},
                                         {"unk_token", nullptr},
                                         {"continuing_subword_prefix", nullptr},
                                         {"end_of_word_suffix", nullptr},
                                         {"fuse_unk", false},
                                         {"byte_fallback", false},
                                         {"ignore_merges", false},
                                         {"vocab", vocabulary},
                                         {"merges", nlohmann::ordered_json::array()}}}};
  return file.dump(1) + "\n";
}

ModelText byte_model_text() {
  const std::string file = byte_tokenizer_json();
  tokens::Tokenizer tokenizer = tokens::Tokenizer::from_json(file);
  const auto end = tokenizer.find_added(last_of_answers);
  return {std::move(tokenizer), ChatTemplate(ChatFormat::smolvlm), std::nullopt, end,
          fmt::format("xxh3-64 {:016x}", XXH3_64bits(file.data(), file.size()))};
}

}  // namespace plimsoll
