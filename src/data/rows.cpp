#include "data/rows.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

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

// The picture of a part; empty where it is one of those listed beside the messages.
std::string picture_of(const json& part) {
  for (const char* key : {"image", "path", "url"})
    if (const auto found = part.find(key); found != part.end() && !found->is_null())
      return text_of(part, key);
  return "";
}

// A text, or a list of parts that are texts and pictures.
std::string content_of(const json& message, std::vector<std::string>& pictures) {
  const auto found = message.find("content");
  if (found == message.end() || !found->is_array()) return text_of(message, "content");
  std::string content;
  for (const json& part : *found) {
    const json type = part.is_object() ? part.value("type", json()) : json();
    if (type == "image") {
      pictures.push_back(picture_of(part));
      content += picture_mark;
    } else if (type == "text") {
      content += text_of(part, "text");
    } else {
      fail_input("a message has a part that is neither text nor image, which is not supported");
    }
  }
  return content;
}

Message parse_message(const json& message, std::vector<std::string>& pictures) {
  if (!message.is_object()) fail_input("a message is not an object with `role` and `content`");
  if (message.contains("tool_calls") && !message["tool_calls"].is_null())
    fail_input("a message has `tool_calls`, which are not supported");
  for (const char* key : {"reasoning_content", "reasoning", "thinking"})
    if (const json thoughts = message.value(key, json()); !thoughts.is_null() && thoughts != "")
      fail_input("a message has `{}`, which is not supported; write it into `content`, as <think>...</think>",
                 key);
  Message parsed{text_of(message, "role"), content_of(message, pictures)};
  if (parsed.role != "system" && parsed.role != "user" && parsed.role != "assistant")
    fail_input("a message has a role other than system, user and assistant");
  return parsed;
}

// `image`, a text, or `images`, a list of texts.
std::vector<std::string> listed_pictures(const json& object) {
  std::vector<std::string> pictures;
  for (const char* key : {"image", "images"}) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    for (const json& picture : found->is_array() ? *found : json::array({*found})) {
      if (!picture.is_string()) fail_input("`{}` is not a text, or a list of texts", key);
      pictures.push_back(picture.get<std::string>());
    }
  }
  return pictures;
}

size_t count_marks(const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(picture_mark); at != text.npos; at = text.find(picture_mark, at + 1)) ++count;
  return count;
}

// Pictures without a mark of their own stand before the first text. Without pictures the mark is text like any other.
void place_pictures(Row& row) {
  if (row.pictures.empty()) return;
  size_t marks = count_marks(row.text) + count_marks(row.completion);
  for (const Message& message : row.messages) marks += count_marks(message.content);
  if (marks == 0) {
    std::string& first =
        row.messages.empty()
            ? row.text
            : row.messages[row.messages[0].role == "system" && row.messages.size() > 1].content;
    for (size_t i = 0; i < row.pictures.size(); ++i) first.insert(0, picture_mark);
  } else if (marks != row.pictures.size()) {
    fail_input("it has {} pictures and {} places for them ({})", row.pictures.size(), marks, picture_mark);
  }
}

// Says why a line is no JSON object.
[[noreturn]] void refuse_line(std::string_view line) {
  if (nests_deeper(line)) fail_input("it nests deeper than {} levels", deepest_json);
  if (const size_t at = line.find('\0'); at != line.npos)
    fail_input("byte {} of it is NUL, which JSON does not have", at + 1);
  try {
    fail_input("it is a JSON {}; expected an object", json::parse(line).type_name());
  } catch (const json::parse_error& error) {
    const std::string_view what = error.what();
    if (what.find("UTF-8") != what.npos)
      fail_input("byte {} of it is not UTF-8; convert the file first", error.byte);
    if (what.find("surrogate") != what.npos)
      fail_input("byte {} of it ends half a pair of surrogates (\\ud800 to \\udfff)", error.byte);
    if (error.byte > line.size()) fail_input("it is not a JSON object: it ends too early");
    fail_input("it is not a JSON object: byte {} is unexpected", error.byte);
  } catch (const json::out_of_range&) {
    fail_input("it has a number beyond 1.8e308");
  }
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

void refuse_mixed(Schema schema, Schema first) {
  if (schema != first)
    fail_input("it has {}, while the first row has {}", schema_name(schema), schema_name(first));
}

bool names_rows(std::string_view path) {
  std::string name(path);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

void refuse_misnamed_rows(const std::string& path, std::string_view content) {
  if (names_rows(path)) return;
  const auto skip_blank = [&] {
    content.remove_prefix(std::min(content.find_first_not_of(" \t\r\n"), content.size()));
  };
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
  skip_blank();
  if (content.starts_with('[')) {
    content.remove_prefix(1);
    skip_blank();
    if (content.starts_with('{'))
      fail_input("[data] {}: it is a JSON array of objects; write one object a line into a file *.jsonl",
                 path);
  } else if (content.starts_with('{')) {
    const std::string_view line = text::next_line(content).substr(0, longest_row);
    if (!has_more_values(line, most_values) && parse_json(line).is_object())
      fail_input("[data] {}: it has a JSON object a line, which are rows; name it *.jsonl", path);
  }
}

Row parse_row(std::string_view line) {
  if (line.size() > longest_row) fail_input("it has more than {} MiB", longest_row >> 20);
  if (has_more_values(line, most_values)) fail_input("it has more than {} values", most_values);
  const json object = parse_json(line);
  if (!object.is_object()) refuse_line(line);
  Row row;
  if (object.contains("messages")) {
    row.schema = Schema::messages;
    if (!object["messages"].is_array()) fail_input("`messages` is not a list");
    for (const json& message : object["messages"])
      row.messages.push_back(parse_message(message, row.pictures));
    if (row.messages.empty()) fail_input("`messages` is empty");
  } else if (object.contains("response")) {
    row.schema = Schema::messages;
    row.messages = {{"user", text_of(object, "text")}, {"assistant", text_of(object, "response")}};
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
  const std::vector<std::string> listed = listed_pictures(object);
  size_t next = 0;
  for (std::string& picture : row.pictures)
    if (picture.empty()) {
      if (next == listed.size()) fail_input("an image of a message names no picture");
      picture = listed[next++];
    }
  row.pictures.insert(row.pictures.end(), listed.begin() + ptrdiff_t(next), listed.end());
  place_pictures(row);
  return row;
}

}  // namespace plimsoll
