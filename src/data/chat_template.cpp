#include "data/chat_template.hpp"

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "jinja/jinja.hpp"

namespace plimsoll {
namespace {

// The date the template has where none is given. Today's would make a data set mean something else every day.
constexpr std::string_view dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

constexpr std::string_view blanks = " \t\n\r\v\f";
// As jinja's `trim`.
std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(blanks);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Bytes that may be written to find the answers of one conversation.
constexpr size_t most_written = 256 << 20;

// Conversations in which templates differ: with and without a system message, late, empty; blanks around what is said;
// thoughts; one role twice; more and longer messages.
const std::vector<std::vector<Message>>& probes() {
  const auto system = [](std::string text) { return Message{"system", std::move(text)}; };
  const auto user = [](std::string text) { return Message{"user", std::move(text)}; };
  const auto assistant = [](std::string text) { return Message{"assistant", std::move(text)}; };
  static const std::vector<std::vector<Message>> all = {
      {user("One question"), assistant("an answer")},
      {system("Be brief"), user("One question"), assistant("an answer")},
      {user(" before"), assistant("after \n"), user("\n\nboth "), assistant(" before")},
      {system(" a "), user("b"), assistant("c"), user("d"), assistant("e"), user("f"), assistant("g")},
      {user("b"), assistant("<think>\nhm\n</think>\n\nc"), user("d"), assistant("<think>so</think>e")},
      {system(""), user("b"), assistant("c")},
      {user("a question that is longer than templates may cut: " + std::string(80, 'q')),
       assistant("and an answer of the same kind: " + std::string(80, 'a'))},
      {user("b"), user("c"), assistant("d"), assistant("e")},
      {user("b"), system("late"), assistant("c"), user("d")}};
  return all;
}

// What the template itself makes of a conversation, for a model that takes parts or plain texts.
std::string run(const JinjaTemplate& jinja, std::span<const Message> messages, const SpecialTexts& special,
                bool parts, bool prompts) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Message& message : messages) {
    nlohmann::ordered_json content = message.content;
    if (parts) content = {{{"type", "text"}, {"text", message.content}}};
    all.push_back({{"role", message.role}, {"content", std::move(content)}});
  }
  nlohmann::ordered_json context = {{"messages", std::move(all)}, {"add_generation_prompt", prompts}};
  if (!special.begin.empty()) context["bos_token"] = special.begin;
  if (!special.end.empty()) context["eos_token"] = special.end;
  return jinja.render(context);
}

// Of the probes; nothing where the template refuses one.
std::vector<std::optional<std::string>> run_probes(const JinjaTemplate& jinja, const SpecialTexts& special,
                                                   bool parts) {
  std::vector<std::optional<std::string>> rendered;
  for (const std::vector<Message>& probe : probes()) try {
      rendered.emplace_back(run(jinja, probe, special, parts, false));
    } catch (const JinjaRaised&) {
      rendered.emplace_back();
    }
  return rendered;
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
    case ChatFormat::own:
      return "own";
    default:
      return "plain";
  }
}

bool ChatTemplate::agrees(const std::vector<std::optional<std::string>>& rendered,
                          std::string_view begin) const {
  for (size_t i = 0; i < rendered.size(); ++i) {
    if (!rendered[i]) continue;
    std::string ours(begins_text_ ? begin : "");
    for (const RenderedMessage& message : render(probes()[i]))
      ours += message.before + message.said + message.after;
    if (ours != *rendered[i]) return false;
  }
  return true;
}

// A format is tried with all its variants. What stands before the first conversation, a token or a system message, is
// taken from what the template writes.
ChatTemplate ChatTemplate::recognise(std::string_view text, const SpecialTexts& special) try {
  const auto jinja = std::make_shared<const JinjaTemplate>(text);
  for (const ChatFormat format : {ChatFormat::chatml, ChatFormat::llama3, ChatFormat::smolvlm}) {
    ChatTemplate candidate(format);
    const std::vector<std::string> tokens = candidate.special_tokens();
    if (!std::all_of(tokens.begin(), tokens.end(),
                     [&](const std::string& t) { return text.find(t) != text.npos; }))
      continue;
    const auto rendered = run_probes(*jinja, special, format == ChatFormat::smolvlm);
    if (!rendered[0]) continue;
    if (std::find(rendered.begin(), rendered.end(), std::nullopt) != rendered.end())
      candidate.jinja_ = jinja, candidate.special_ = special;  // it refuses some conversations
    std::string_view first = *rendered[0];
    candidate.begins_text_ = !special.begin.empty() && first.starts_with(special.begin);
    if (candidate.begins_text_) first.remove_prefix(special.begin.size());
    const RenderedMessage system = candidate.wrap("system", "");
    candidate.dated_ = format == ChatFormat::llama3 && first.starts_with(system.before + std::string(dates));
    if (const size_t end = first.find(system.said);
        format == ChatFormat::chatml && first.starts_with(system.before) && end != first.npos)
      candidate.default_system_ = first.substr(system.before.size(), end - system.before.size());
    for (const bool thinks : {false, true})
      for (const bool trims : {format == ChatFormat::llama3, true})
        for (const bool omits : {false, true}) {
          candidate.thinks_ = thinks, candidate.trims_ = trims, candidate.omits_empty_system_ = omits;
          if (candidate.agrees(rendered, special.begin)) return candidate;
        }
  }
  return own(jinja, special);
} catch (const InputError& error) {
  fail_input("{}; choose --chat-template chatml, llama3 or plain", error.what());
}

// Any other template writes its conversations itself, if it can be told where answers lie.
ChatTemplate ChatTemplate::own(std::shared_ptr<const JinjaTemplate> jinja, const SpecialTexts& special) {
  ChatTemplate chat(ChatFormat::own);
  chat.jinja_ = std::move(jinja);
  chat.special_ = special;
  chat.write(probes()[2]);  // several turns
  const WrittenChat written = chat.write(probes()[0]);
  const auto [begin, end] = written.said.back();
  const std::string answer = written.text.substr(begin, end - begin), &said = probes()[0].back().content;
  chat.answer_end_ = trimmed(answer.substr(answer.rfind(said) + said.size()));
  return chat;
}

// An answer is what a conversation up to it has more than the same without it, as far as the prompt for it.
WrittenChat ChatTemplate::write(const std::vector<Message>& messages) const {
  WrittenChat chat{run(*jinja_, messages, special_, false, false), {}};
  if (messages.size() * chat.text.size() > most_written)
    fail_input("it has {} messages and {} characters, too many for the model's own chat template",
               messages.size(), chat.text.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const auto first = std::span(messages).first(i + 1);
    const std::string upto = run(*jinja_, first, special_, false, false);
    const std::string said = trimmed(messages[i].content);
    // Nothing asks for an answer that comes first; what stands before it is its header.
    std::string prompt = i ? run(*jinja_, first.first(i), special_, false, true)
                           : upto.substr(0, said.empty() ? 0 : upto.rfind(said));
    if (i && !upto.starts_with(prompt)) prompt = run(*jinja_, first.first(i), special_, false, false);
    const size_t at = said.empty() ? prompt.size() : upto.rfind(said);
    if (!chat.text.starts_with(upto) || !upto.starts_with(prompt) || at == upto.npos || at < prompt.size())
      fail_input(
          "the model's chat template does not write answer {} as it is, or writes it otherwise once "
          "another follows",
          i + 1);
    // Blanks after the token that ends the answer are not part of it.
    const size_t end = upto.find_last_not_of(blanks) + 1;
    chat.said.emplace_back(prompt.size(), end > at + said.size() ? end : upto.size());
  }
  return chat;
}

std::string ChatTemplate::write_prompt(const std::vector<Message>& messages) const {
  return run(*jinja_, messages, special_, false, true);
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
  if (jinja_) run(*jinja_, messages, special_, format_ == ChatFormat::smolvlm, false);
  const auto content = [&](size_t i) {
    if (thinks_ && messages[i].role == "assistant") return with_thoughts(messages, i);
    return trims_ ? trimmed(messages[i].content) : messages[i].content;
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
