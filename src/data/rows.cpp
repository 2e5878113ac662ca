#include "data/rows.hpp"

#include "base/error.hpp"
#include "base/json.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;
constexpr size_t longest_row = 16 << 20, most_values = 100'000;

const std::string& text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) fail_input("it has no `{}`", key);
  if (!found->is_string()) fail_input("`{}` is not a text", key);
  return found->get_ref<const std::string&>();
}

// A text, or a list of parts that are all texts.
std::string content_of(const json& message) {
  const auto found = message.find("content");
  if (found == message.end() || !found->is_array()) return text_of(message, "content");
  std::string content;
  for (const json& part : *found) {
    if (!part.is_object() || part.value("type", json()) != "text")
      fail_input("a message has a part that is not text, which is not supported");
    content += text_of(part, "text");
  }
  return content;
}

Message parse_message(const json& message) {
  if (!message.is_object()) fail_input("a message is not an object with `role` and `content`");
  if (message.contains("tool_calls") && !message["tool_calls"].is_null())
    fail_input("a message has `tool_calls`, which are not supported");
  Message parsed{text_of(message, "role"), content_of(message)};
  if (parsed.role != "system" && parsed.role != "user" && parsed.role != "assistant")
    fail_input("a message has a role other than system, user and assistant");
  return parsed;
}

}  // namespace

const char* schema_name(Schema schema) {
  switch (schema) {
    case Schema::completion:
      return "prompt and completion";
    case Schema::instruction:
      return "instruction, input and output";
    case Schema::messages:
      return "messages";
    default:
      return "text";
  }
}

Row parse_row(std::string_view line) {
  if (line.size() > longest_row) fail_input("it has more than {} MiB", longest_row >> 20);
  if (has_more_values(line, most_values)) fail_input("it has more than {} values", most_values);
  const json object = parse_json(line);
  if (!object.is_object()) fail_input("it is not a JSON object");
  Row row;
  if (object.contains("messages")) {
    row.schema = Schema::messages;
    if (!object["messages"].is_array()) fail_input("`messages` is not a list");
    for (const json& message : object["messages"]) row.messages.push_back(parse_message(message));
    if (row.messages.empty()) fail_input("`messages` is empty");
  } else if (object.contains("instruction")) {
    row.schema = Schema::instruction;
    std::string question = text_of(object, "instruction");
    if (const auto input = object.find("input"); input != object.end() && !input->is_null() && *input != "")
      question += "\n\n" + text_of(object, "input");
    row.messages = {{"user", std::move(question)}, {"assistant", text_of(object, "output")}};
  } else if (object.contains("prompt")) {
    row.schema = Schema::completion;
    row.text = text_of(object, "prompt");
    row.completion = text_of(object, "completion");
  } else {
    if (!object.contains("text")) fail_input("it has none of `text`, `prompt`, `instruction` and `messages`");
    row.text = text_of(object, "text");
  }
  return row;
}

}  // namespace plimsoll
