#include "data/chat_template.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "jinja/jinja.hpp"

namespace plimsoll {
namespace {

// The date the template has where none is given. Today's would make a data set mean something else every day.
constexpr std::string_view dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

constexpr std::string_view blanks = " \t\n\r\v\f";
// As jinja's `trim`.
std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(blanks);
  return std::string(begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

// Templates put thoughts on lines of their own.
std::string without_blanks(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
               [](char c) { return blanks.find(c) == blanks.npos; });
  return kept;
}

std::string_view common_start(std::string_view a, std::string_view b) {
  return a.substr(0, size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin()));
}

[[noreturn]] void fail_unfound(size_t answer) {
  fail_input("the model's chat template does not write answer {} as it is, or a part of it", answer);
}

// Bytes that may be written to find the answers of one conversation.
constexpr size_t most_written = 256 << 20;

// Conversations in which templates differ: with and without a system message, late, empty; blanks around what is said;
// thoughts; one role twice; more and longer messages; a tool's answer as the user's.
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
      {user("b"), system("late"), assistant("c"), user("d")},
      {user("b"), assistant("<think>\nhm\n</think>\n\nc"), user("<tool_response>\nd\n</tool_response>"),
       assistant("<think>so</think>e")}};
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
  context["tools"] = context["documents"] = nullptr;  // as transformers has them where there are none
  for (const auto& [name, token] : special.others) context[name] = token;
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

// Any other template writes its conversations itself, if it can be told where answers lie. What ends an answer is what
// follows it in the middle of a conversation as well as at its end.
ChatTemplate ChatTemplate::own(std::shared_ptr<const JinjaTemplate> jinja, const SpecialTexts& special) {
  ChatTemplate chat(ChatFormat::own);
  chat.jinja_ = std::move(jinja);
  chat.special_ = special;
  std::string tails[2];
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<Message>& probe = probes()[2 * i];  // one turn, and several
    const std::string text = run(*chat.jinja_, probe, special, false, false);
    const auto [begin, end] = chat.find_said(text, probe, 1);
    if (trimmed(text.substr(begin, end - begin)) != trimmed(probe[1].content)) fail_unfound(1);
    tails[i] = text.substr(end);
  }
  std::string_view common = common_start(tails[0], tails[1]);
  if (const size_t open = common.rfind('<'); open != common.npos && common.find('>', open) == common.npos)
    common = common.substr(0, open);  // two tokens that begin alike
  chat.answer_end_ = trimmed(trimmed(common).empty() ? tails[0] : common);
  return chat;
}

// What is said is where the text changes when something else is said.
std::pair<size_t, size_t> ChatTemplate::find_said(std::string_view text, std::vector<Message> messages,
                                                  size_t i) const {
  const std::string content = std::exchange(messages[i].content, "\x01");
  const std::string other = run(*jinja_, messages, special_, false, false);
  const size_t begin = common_start(text, other).size();
  const auto ends = std::mismatch(text.rbegin(), text.rend() - ptrdiff_t(begin), other.rbegin(),
                                  other.rend() - ptrdiff_t(begin));
  const size_t end = size_t(text.rend() - ends.first);
  if (without_blanks(content).find(without_blanks(text.substr(begin, end - begin))) == content.npos)
    fail_unfound(i + 1);
  return {begin, end};
}

// An answer begins where the prompt for it ends, if the template writes that before it.
WrittenChat ChatTemplate::write(const std::vector<Message>& messages) const {
  WrittenChat chat{.text = run(*jinja_, messages, special_, false, false), .said = {}};
  if (messages.size() * chat.text.size() > most_written)
    fail_input("it has {} messages and {} characters, too many for the model's own chat template",
               messages.size(), chat.text.size());
  const std::string_view text = chat.text;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    auto [begin, end] = find_said(text, messages, i);
    chat.shortened |= !without_blanks(text.substr(0, end)).ends_with(without_blanks(messages[i].content));
    if (i) {
      const std::string prompt = run(*jinja_, std::span(messages).first(i), special_, false, true);
      if (prompt.size() < begin && text.starts_with(prompt)) begin = prompt.size();
    }
    // Blanks after the token that ends the answer are not part of it.
    if (const size_t rest = std::min(text.find_first_not_of(blanks, end), text.size());
        !answer_end_.empty() && text.substr(rest).starts_with(answer_end_))
      end = rest + answer_end_.size();
    chat.said.emplace_back(begin, end);
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
    if (const std::string& asked = messages[m].content;
        messages[m].role == "user" &&
        !(asked.starts_with("<tool_response>") && asked.ends_with("</tool_response>"))) {
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
  for (; next < messages.size(); ++next) {
    rendered.push_back(wrap(messages[next].role, content(next)));
    rendered.back().shortened =
        thinks_ && without_blanks(rendered.back().said).find(without_blanks(messages[next].content)) ==
                       std::string::npos;
  }
  if (format_ == ChatFormat::smolvlm && !rendered.empty()) rendered[0].before.insert(0, "<|im_start|>");
  return rendered;
}

std::string ChatTemplate::answer_prompt() const { return wrap("assistant", "").before; }

}  // namespace plimsoll
