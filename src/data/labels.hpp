// Turns rows into tokens that know whether they are learned: all of a text, of a conversation what the assistant says.
#pragma once
#include <cstdint>
#include <vector>

#include "data/model_text.hpp"
#include "data/rows.hpp"

namespace plimsoll {

struct LabelledTokens {
  std::vector<int32_t> tokens;
  std::vector<bool> learned;  // whether the token counts as a target
  bool shortened = false;     // the chat template left out a part of an answer
};

class Labeller {
 public:
  // `text` must outlive this. InputError if the tokenizer lacks a token that the template needs; `chats` says whether
  // there are conversations at all.
  Labeller(const ModelText& text, bool chats);

  // InputError for tokens that the model does not know.
  LabelledTokens label(const Row& row) const;
  // The conversation up to the place where the assistant answers.
  std::vector<int32_t> prompt(const std::vector<Message>& messages) const;

 private:
  // Tokens of `before` followed by `said`; those that `before` alone would not give are learned, if `learned`.
  void append(LabelledTokens& out, const std::string& before, const std::string& said, bool learned) const;
  void append_end(LabelledTokens& out) const;
  void label_written(const WrittenChat& chat, LabelledTokens& out) const;
  void label_chat(const std::vector<Message>& messages, LabelledTokens& out) const;

  const ModelText& text_;
};

}  // namespace plimsoll
