#include "data/chat_template.hpp"

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view knowledge_date = "Cutting Knowledge Date: December 2023";
// The date the template has where none is given. Today's would make a data set mean something else every day.
constexpr std::string_view dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

// As jinja's `trim`.
std::string trimmed(const std::string& text) {
  constexpr std::string_view spaces = " \t\n\r\v\f";
  const size_t begin = text.find_first_not_of(spaces);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

// The system message that a ChatML template writes by itself: text that opens a system message and closes it, in a literal
// or between the template's statements.
std::optional<std::string> find_default_system(std::string_view jinja) {
  constexpr std::string_view closing = "<|im_end|>";
  for (const std::string_view opening : {"<|im_start|>system\\n", "<|im_start|>system\n"})
    for (size_t at = jinja.find(opening); at != jinja.npos; at = jinja.find(opening, at + 1)) {
      const std::string_view rest = jinja.substr(at + opening.size());
      const size_t end = rest.find(closing);
      if (end == 0 || end == rest.npos) continue;
      const std::string_view text = rest.substr(0, end);
      if (text.find_first_of("'\"{}\\") == text.npos) return std::string(text);
    }
  return std::nullopt;
}

std::string capitalized(std::string name) {
  name[0] = char(name[0] - 'a' + 'A');
  return name;
}

std::string without_newlines(std::string_view text, bool at_begin, bool at_end) {
  while (at_begin && text.starts_with('\n')) text.remove_prefix(1);
  while (at_end && text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

const char* chat_format_name(ChatFormat format) {
  switch (format) {
    case ChatFormat::chatml:
      return "chatml";
    case ChatFormat::llama3:
      return "llama3";
    case ChatFormat::smolvlm:
      return "smolvlm";
    default:
      return "plain";
  }
}

ChatTemplate ChatTemplate::recognise(std::string_view jinja) {
  const auto has = [&](std::string_view text) { return jinja.find(text) != jinja.npos; };
  // That of Qwen3 leaves the thoughts of earlier answers out. Others that write them differ.
  const bool thinks = has("<|im_start|>") && has("loop.last or (not loop.last and reasoning_content)") &&
                      has("last_query_index") && !has("preserve_thinking");
  if (has("think>") && !thinks)
    fail_input(
        "the model's chat template writes <think> blocks in a way that is not known; choose --chat-template "
        "chatml, "
        "llama3 or plain");
  if (has("<|im_start|>") && has("<|im_end|>")) {
    ChatTemplate chatml(ChatFormat::chatml);
    chatml.default_system_ = find_default_system(jinja);
    chatml.thinks_ = thinks;
    chatml.begins_text_ = has("bos_token");
    chatml.omits_empty_system_ = has("if ns.system_prompt");
    return chatml;
  }
  if (has("<|im_start|>") && has("<end_of_utterance>") && has("capitalize") && has("'Assistant:'"))
    return ChatTemplate(ChatFormat::smolvlm);
  // Templates with the tokens of Llama-3 that do not trim what is said are those of other models.
  if (has("<|start_header_id|>") && has("<|eot_id|>") &&
      (has("message['content'] | trim") || has("message['content']|trim") || has("message.content | trim"))) {
    ChatTemplate llama3(ChatFormat::llama3);
    llama3.dated_ = has(knowledge_date);
    return llama3;
  }
  fail_input("the model's chat template is not known; choose --chat-template chatml, llama3 or plain");
}

std::vector<std::string> ChatTemplate::special_tokens() const {
  switch (format_) {
    case ChatFormat::chatml:
      return {"<|im_start|>", "<|im_end|>"};
    case ChatFormat::llama3:
      return {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
    case ChatFormat::smolvlm:
      return {"<|im_start|>", "<end_of_utterance>"};
    default:
      return {};
  }
}

// The content is taken as it is.
RenderedMessage ChatTemplate::wrap(const std::string& role, const std::string& content) const {
  const bool learned = role == "assistant";
  switch (format_) {
    case ChatFormat::chatml:
      return {"<|im_start|>" + role + "\n", content + "<|im_end|>", "\n", learned};
    case ChatFormat::llama3:
      return {"<|start_header_id|>" + role + "<|end_header_id|>\n\n", content + "<|eot_id|>", "", learned};
    case ChatFormat::smolvlm:
      // No space before a picture.
      return {capitalized(role) + ":",
              (content.starts_with("<fake_token_around_image>") ? "" : " ") + content + "<end_of_utterance>",
              "\n", learned};
    default: {
      const std::string name = capitalized(role);
      // The space belongs to the first word.
      return {name + ":", " " + content, learned ? "" : "\n", learned, learned};
    }
  }
}

// What Qwen3's template makes of an answer: thoughts within the content are left out, and the last answer to the last
// question begins with a block for them.
std::string ChatTemplate::with_thoughts(const std::vector<Message>& messages, size_t i) const {
  constexpr std::string_view open = "<think>", close = "</think>";
  std::string_view content = messages[i].content, thoughts;
  if (const size_t first = content.find(close); first != content.npos) {
    thoughts = content.substr(0, first);
    while (thoughts.ends_with('\n')) thoughts.remove_suffix(1);
    if (const size_t begin = thoughts.rfind(open); begin != thoughts.npos)
      thoughts.remove_prefix(begin + open.size());
    content.remove_prefix(content.rfind(close) + close.size());
    while (content.starts_with('\n')) content.remove_prefix(1);
  }
  size_t last_question = messages.size() - 1;  // the template's default where there is none
  for (size_t m = messages.size(); m-- > 0;)
    if (messages[m].role == "user") {
      last_question = m;
      break;
    }
  const std::string inside = without_newlines(thoughts, true, true);
  if (i <= last_question || (i + 1 < messages.size() && inside.empty())) return std::string(content);
  return "<think>\n" + inside + "\n</think>\n\n" + without_newlines(content, true, false);
}

std::vector<RenderedMessage> ChatTemplate::render(const std::vector<Message>& messages) const {
  const auto content = [&](size_t i) {
    if (thinks_ && messages[i].role == "assistant") return with_thoughts(messages, i);
    return format_ == ChatFormat::llama3 ? trimmed(messages[i].content) : messages[i].content;
  };
  std::vector<RenderedMessage> rendered;
  size_t next = 0;
  const bool has_system = !messages.empty() && messages[0].role == "system";
  if (dated_) {
    rendered.push_back(wrap("system", std::string(dates) + (has_system ? content(0) : "")));
    next = has_system;
  } else if (default_system_ && !has_system) {
    rendered.push_back(wrap("system", *default_system_));
  } else if (omits_empty_system_ && has_system && messages[0].content.empty()) {
    next = 1;
  }
  for (; next < messages.size(); ++next) rendered.push_back(wrap(messages[next].role, content(next)));
  if (format_ == ChatFormat::smolvlm && !rendered.empty()) rendered[0].before.insert(0, "<|im_start|>");
  return rendered;
}

std::string ChatTemplate::answer_prompt() const { return wrap("assistant", "").before; }

}  // namespace plimsoll
