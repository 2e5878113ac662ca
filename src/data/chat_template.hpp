// How a conversation becomes text: the formats models are trained with, recognised in the model's own template.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows.hpp"

namespace plimsoll {

enum class ChatFormat {
  plain,   // User: …\nAssistant: …
  chatml,  // <|im_start|>user\n…<|im_end|>\n
  llama3,  // <|start_header_id|>user<|end_header_id|>\n\n…<|eot_id|>
  smolvlm  // <|im_start|>User:…<end_of_utterance>\n, the first token only once
};
const char* chat_format_name(ChatFormat format);

// One message as text. Its parts follow each other; the middle one is what the model learns to say if the message is
// the assistant's.
struct RenderedMessage {
  std::string before, said, after;
  bool learned = false;    // it is the assistant's
  bool ends_text = false;  // the token that ends a text follows what is said
};

class ChatTemplate {
 public:
  explicit ChatTemplate(ChatFormat format = ChatFormat::plain) : format_(format) {}
  // Recognises a model's template, as it is in tokenizer_config.json or chat_template.jinja; InputError for one that is
  // none of the known formats.
  static ChatTemplate recognise(std::string_view jinja);

  ChatFormat format() const { return format_; }
  // The special tokens it needs.
  std::vector<std::string> special_tokens() const;
  // The messages, and the system message that a template may write by itself.
  std::vector<RenderedMessage> render(const std::vector<Message>& messages) const;
  // What makes the model answer.
  std::string answer_prompt() const;
  // Whether the token that begins a text stands before the conversation.
  bool begins_text() const { return format_ == ChatFormat::llama3 || begins_text_; }

 private:
  RenderedMessage wrap(const std::string& role, const std::string& content) const;
  std::string with_thoughts(const std::vector<Message>& messages, size_t i) const;

  ChatFormat format_;
  std::optional<std::string> default_system_;  // for conversations without one
  bool begins_text_ = false;                   // ChatML: `bos_token` stands before the conversation
  bool omits_empty_system_ = false;            // LFM2: a system message without text is not written
  bool dated_ = false;                         // Llama-3.1 and later: dates stand before the system message
  bool thinks_ = false;  // Qwen3: the last answer begins with a <think> block, which may be empty
};

}  // namespace plimsoll
