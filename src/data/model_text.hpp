// What a model folder says about text: its tokenizer, its chat template, and the tokens that begin and end a text.
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/chat_template.hpp"
#include "tokens/tokenizer.hpp"

namespace plimsoll {

struct ModelText {
  tokens::Tokenizer tokenizer;
  ChatTemplate chat;
  std::optional<int32_t> begin, end;
  std::string checksum = {};      // of tokenizer.json
  std::string chat_problem = {};  // why `chat` is not the model's own; texts need none
  int rows = INT32_MAX;           // of the model's embedding, where its config.json says so

  // The tokens at which an answer ends: of the chat template, and of a text.
  bool ends_answer(int32_t token) const;
  // InputError for a token that was added to the tokenizer and not to the model.
  void check(std::span<const int32_t> tokens) const;
};

// `chat` is auto, chatml, llama3 or plain; auto takes the model's own template, and plain where it has none. The folder
// may also be a tokenizer.json: what lies beside it is read. InputError for what is not understood; a template that is
// not known is only named in `chat_problem`.
ModelText load_model_text(const std::filesystem::path& model, std::string_view chat = "auto");

}  // namespace plimsoll
