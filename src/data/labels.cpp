#include "data/labels.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace plimsoll {

Labeller::Labeller(const ModelText& text, bool chats) : text_(text) {
  if (!chats) return;
  if (!text.chat_problem.empty()) throw InputError(text.chat_problem);
  for (const std::string& token : text.chat.special_tokens())
    if (!text.tokenizer.find_added(token))
      fail_input(
          "the template {} needs the token {}, which this tokenizer lacks; choose --chat-template plain",
          chat_format_name(text.chat.format()), token);
}

void Labeller::append(LabelledTokens& out, const std::string& before, const std::string& said,
                      bool learned) const {
  const size_t first = out.tokens.size();
  text_.tokenizer.encode(before + said, out.tokens);
  out.learned.resize(out.tokens.size());
  if (!learned) return;
  // Where the two meet a token may hold something of both: it is learned, because it is not in what was given.
  const std::vector<int32_t> given = text_.tokenizer.encode(before);
  const auto begin = out.tokens.begin() + ptrdiff_t(first);
  const auto [here, _] = std::mismatch(begin, out.tokens.end(), given.begin(), given.end());
  std::fill(out.learned.begin() + (here - out.tokens.begin()), out.learned.end(), true);
}

void Labeller::append_end(LabelledTokens& out) const {
  if (!text_.end) return;
  out.tokens.push_back(*text_.end);
  out.learned.push_back(true);
}

// A token that holds something of an answer is learned.
void Labeller::label_written(const WrittenChat& chat, LabelledTokens& out) const {
  out.tokens = text_.tokenizer.encode(chat.text);
  out.shortened = chat.shortened;
  size_t at = 0;
  auto said = chat.said.begin();
  for (const int32_t token : out.tokens) {
    const size_t begin = std::exchange(at, at + text_.tokenizer.bytes(token).size());
    while (said != chat.said.end() && said->second <= begin) ++said;
    out.learned.push_back(said != chat.said.end() && at > said->first);
  }
  if (at != chat.text.size())
    fail_input("the tokenizer changes the text, so that answers cannot be found in it; normalize it first");
}

// Messages begin with a special token, so tokens of one message do not depend on the others.
void Labeller::label_chat(const std::vector<Message>& messages, LabelledTokens& out) const {
  if (text_.chat.format() == ChatFormat::own) return label_written(text_.chat.write(messages), out);
  if (text_.chat.begins_text() && text_.begin) {
    out.tokens.push_back(*text_.begin);
    out.learned.push_back(false);
  }
  for (const RenderedMessage& message : text_.chat.render(messages)) {
    append(out, message.before, message.said, message.learned);
    if (message.ends_text) append_end(out);
    out.shortened |= message.shortened;
    append(out, message.after, "", false);
  }
}

LabelledTokens Labeller::label(const Row& row) const {
  LabelledTokens out;
  switch (row.schema) {
    case Schema::text:
      out.tokens = text_.tokenizer.encode(row.text, true);
      out.learned.assign(out.tokens.size(), true);
      if (out.tokens.empty() || text_.end != out.tokens.back()) append_end(out);
      break;
    case Schema::completion: {
      const std::span<const int32_t> start = text_.tokenizer.before_text();
      out.tokens.assign(start.begin(), start.end());
      out.learned.assign(start.size(), false);
      append(out, row.text, row.completion, true);
      append_end(out);
      break;
    }
    default:
      label_chat(row.messages, out);
  }
  text_.check(out.tokens);
  return out;
}

std::vector<int32_t> Labeller::prompt(const std::vector<Message>& messages) const {
  LabelledTokens out;
  if (text_.chat.format() == ChatFormat::own) {
    out.tokens = text_.tokenizer.encode(text_.chat.write_prompt(messages));
  } else {
    label_chat(messages, out);
    append(out, text_.chat.answer_prompt(), "", false);
  }
  text_.check(out.tokens);
  return out.tokens;
}

}  // namespace plimsoll
