// The rows of a data set for fine-tuning: one JSON object a line, in one of four schemas.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

enum class Schema {
  text,         // {"text": "…"}
  completion,   // {"prompt": "…", "completion": "…"}
  instruction,  // {"instruction": "…", "input": "…", "output": "…"}; input may be left out
  messages  // {"messages": [{"role": "user", "content": "…"}, …]}, {"text": "…", "image": "…", "response": "…"}
};
const char* schema_name(Schema schema);
// InputError, without the number of the line: all rows of a file have the schema of the first.
void refuse_mixed(Schema schema, Schema first);

struct Message {
  std::string role, content;
};

struct Row {
  Schema schema = Schema::text;
  std::string text;        // of a text, or the prompt
  std::string completion;  // after the prompt
  std::vector<Message>
      messages;  // of a conversation, or what an instruction becomes: a question and its answer
  // Files, or base64, in the order in which `picture_mark` stands for them in the texts.
  std::vector<std::string> pictures;
};
constexpr std::string_view picture_mark = "<image>";

// Whether a file of this name is read as rows: *.jsonl or *.ndjson, in any case.
bool names_rows(std::string_view path);
// InputError where a file of another name holds rows: it would be taken for text.
void refuse_misnamed_rows(const std::string& path, std::string_view content);

// InputError, without the number of the line, for anything that is not such an object. Other keys may hold anything.
Row parse_row(std::string_view line);

}  // namespace plimsoll
