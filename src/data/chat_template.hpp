// How a conversation becomes text: the formats models are trained with, recognised in the model's own template.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/rows.hpp"

namespace plimsoll {

class JinjaTemplate;

enum class ChatFormat {
  plain,    // User: …\nAssistant: …
  chatml,   // <|im_start|>user\n…<|im_end|>\n
  llama3,   // <|start_header_id|>user<|end_header_id|>\n\n…<|eot_id|>
  smolvlm,  // <|im_start|>User:…<end_of_utterance>\n, the first token only once
  own       // as the model's template writes it
};
const char* chat_format_name(ChatFormat format);

// One message as text. Its parts follow each other; the middle one is what the model learns to say if the message is
// the assistant's.
struct RenderedMessage {
  std::string before, said, after;
  bool learned = false;    // it is the assistant's
  bool ends_text = false;  // the token that ends a text follows what is said
  bool shortened = false;  // a part of the message is left out
};

// A conversation as one text, and where in it the assistant's answers are.
struct WrittenChat {
  std::string text;
  std::vector<std::pair<size_t, size_t>> said;
  bool shortened = false;  // the template left out a part of an answer
};

// The tokens that begin and end a text, as they are written; empty where the model has none.
struct SpecialTexts {
  std::string begin, end;
  std::vector<std::pair<std::string, std::string>> others = {};  // such as pad_token
};

class ChatTemplate {
 public:
  explicit ChatTemplate(ChatFormat format = ChatFormat::plain)
      : format_(format), begins_text_(format == ChatFormat::llama3), trims_(format == ChatFormat::llama3) {}
  // Recognises a model's template, as it is in tokenizer_config.json or chat_template.jinja, by what it makes of a few
  // conversations. One that writes them in none of the formats is `own`; InputError where answers cannot be found in that.
  static ChatTemplate recognise(std::string_view jinja, const SpecialTexts& special);

  ChatFormat format() const { return format_; }
  // Of the format `own`: InputError where it cannot be told where an answer is.
  WrittenChat write(const std::vector<Message>& messages) const;
  std::string write_prompt(const std::vector<Message>& messages) const;
  const std::string& answer_end() const { return answer_end_; }

  // Of the others. The special tokens it needs.
  std::vector<std::string> special_tokens() const;
  // The messages, and the system message that a template may write by itself.
  std::vector<RenderedMessage> render(const std::vector<Message>& messages) const;
  // What makes the model answer.
  std::string answer_prompt() const;
  // Whether the token that begins a text stands before the conversation.
  bool begins_text() const { return begins_text_; }

 private:
  static ChatTemplate own(std::shared_ptr<const JinjaTemplate> jinja, const SpecialTexts& special);
  // Where in the text what message `i` says is; InputError where it is not written in one piece.
  std::pair<size_t, size_t> find_said(std::string_view text, std::vector<Message> messages, size_t i) const;
  RenderedMessage wrap(const std::string& role, const std::string& content) const;
  bool agrees(const std::vector<std::optional<std::string>>& rendered, std::string_view begin) const;
  std::string with_thoughts(const std::vector<Message>& messages, size_t i) const;

  ChatFormat format_;
  std::optional<std::string> default_system_;   // for conversations without one
  bool begins_text_;                            // `bos_token` stands before the conversation
  bool trims_;                                  // blanks around what is said are left out
  bool omits_empty_system_ = false;             // LFM2: a system message without text is not written
  std::shared_ptr<const JinjaTemplate> jinja_;  // `own`, and templates that refuse some conversations
  SpecialTexts special_;
  std::string answer_end_;  // what follows an answer, such as </s>
  bool dated_ = false;      // Llama-3.1 and later: dates stand before the system message
  bool thinks_ = false;     // Qwen3: the last answer begins with a <think> block, which may be empty
};

}  // namespace plimsoll
