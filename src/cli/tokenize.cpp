// `plimsoll tokenize`: the token ids of a text with a model's own tokenizer, and the text of token ids.
#include <chrono>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "data/labels.hpp"
#include "data/pictures.hpp"
#include "pretrained/config.hpp"
#include "tokens/tokenizer.hpp"

namespace plimsoll::cli::tokenize_command {
namespace {

constexpr uint64_t most_bytes = uint64_t(1) << 31;

struct Text {
  std::string model, file, images, chat = "auto";
  bool decode = false, labels = false, as_json = false, count = false, template_tokens = false, rows = false;
};

std::string read_input(const std::string& file) {
  if (!file.empty() && file != "-") return read_file(file, most_bytes);
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

// {"ids": [1, 2]}, [1, 2], or numbers between spaces.
std::vector<int32_t> parse_ids(std::string_view text) {
  std::vector<int32_t> ids;
  const auto add = [&](std::optional<int64_t> id, const std::string& shown) {
    if (!id || *id < 0 || *id > INT32_MAX)
      fail_input("{} is not a token id; expected {{\"ids\": [...]}} or numbers", shown);
    ids.push_back(int32_t(*id));
  };
  nlohmann::json json = parse_json(text);
  if (json.is_object() && json.contains("ids")) json = nlohmann::json(json["ids"]);
  if (json.is_array()) {
    for (const auto& id : json)
      add(id.is_number_integer() ? std::optional(id.get<int64_t>()) : std::nullopt, tokens::quote(id.dump()));
    return ids;
  }
  for (auto word = text::next_word(text); !word.empty(); word = text::next_word(text))
    add(text::number<int64_t>(word), tokens::quote(word));
  return ids;
}

struct NumberedRow {
  size_t line;
  Row row;
};

std::vector<NumberedRow> parse_rows(std::string_view text) {
  std::vector<NumberedRow> rows;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text::next_line(text);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      rows.push_back({number, parse_row(line)});
    } catch (const InputError& error) {
      fail_input("line {}: {}", number, error.what());
    }
  }
  return rows;
}

// The `text` of each row.
std::vector<std::string> parse_texts(std::string_view text) {
  std::vector<std::string> texts;
  for (auto& [line, row] : parse_rows(text)) {
    if (row.schema != Schema::text) fail_input("line {} has no `text`; --labels reads other rows", line);
    texts.push_back(std::move(row.text));
  }
  return texts;
}

// Rows as a training run sees them.
void print_labels(const Text& options) {
  const ModelText text = load_model_text(options.model, options.chat);
  std::vector<std::vector<int32_t>> ids, labels;
  std::optional<Pictures> pictures;
  if (looks_at_pictures(options.model))
    pictures.emplace(PictureOptions{*read_config(options.model).pictures,
                                    options.images.empty() ? std::filesystem::path(options.file).parent_path()
                                                           : std::filesystem::path(options.images),
                                    most_bytes});
  std::vector<NumberedRow> rows = parse_rows(read_input(options.file));
  std::optional<Labeller> labeller;
  if (!rows.empty()) {
    const Schema schema = rows.front().row.schema;
    labeller.emplace(text, schema == Schema::messages || schema == Schema::instruction);
  }
  for (auto& [line, row] : rows) {
    try {
      refuse_mixed(row.schema, rows.front().row.schema);
      if (!row.pictures.empty() && !pictures) fail_input("it has a picture, and the model looks at none");
      if (pictures) pictures->add(row);
      LabelledTokens labelled = labeller->label(row);
      if (pictures) pictures->check(row, labelled);
      labels.emplace_back();
      for (size_t i = 0; i < labelled.tokens.size(); ++i)
        labels.back().push_back(labelled.learned[i] ? labelled.tokens[i] : -1);
      ids.push_back(std::move(labelled.tokens));
    } catch (const InputError& error) {
      fail_input("line {}: {}", line, error.what());
    }
  }
  if (options.as_json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"rows", ids}, {"labels", labels}}.dump());
    return;
  }
  for (size_t i = 0; i < ids.size(); ++i)
    fmt::print("{}\n{}\n", fmt::join(ids[i], " "), fmt::join(labels[i], " "));
}

void print_text(const std::string& text, bool as_json) {
  if (as_json) {
    const nlohmann::ordered_json out = {{"text", text}};
    fmt::print("{}\n", out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  } else {
    std::cout.write(text.data(), std::streamsize(text.size()));
    std::cout.flush();
  }
}

void run(const Text& options) {
  if (options.model.empty()) fail_input("--model is missing; give a model folder or a tokenizer.json");
  if (options.labels) return print_labels(options);
  const tokens::Tokenizer tokenizer = tokens::Tokenizer::load(options.model);
  const std::string input = read_input(options.file);
  if (options.decode) return print_text(tokenizer.decode(parse_ids(input)), options.as_json);
  const bool rows = options.rows || names_rows(options.file);
  const std::vector<std::string> texts = rows ? parse_texts(input) : std::vector<std::string>{input};
  std::vector<std::vector<int32_t>> ids;
  const auto start = std::chrono::steady_clock::now();
  size_t count = 0, bytes = 0;
  for (const std::string& text : texts) {
    ids.push_back(tokenizer.encode(text, options.template_tokens));
    count += ids.back().size(), bytes += text.size();
    if (options.count) ids.back() = {};
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.count && options.as_json)
    fmt::print("{}\n",
               nlohmann::ordered_json{
                   {"tokens", count}, {"bytes", bytes}, {"texts", texts.size()}, {"seconds", seconds}}
                   .dump());
  else if (options.count)
    fmt::print("{} tokens, {} bytes, {:.1f} MB/s\n", format_count(count), format_count(bytes),
               seconds > 0 ? double(bytes) / seconds / 1e6 : 0.);
  else if (options.as_json)
    fmt::print("{}\n", rows ? nlohmann::json{{"rows", ids}}.dump() : nlohmann::json{{"ids", ids[0]}}.dump());
  else
    for (const auto& row : ids) fmt::print("{}\n", fmt::join(row, " "));
}

Command command(
    37, "tokenize", "turn text into a model's token ids, and back",
    "plimsoll tokenize --model SmolLM2-135M book.txt --count\n"
    "  plimsoll tokenize --model SmolLM2-135M --json < book.txt",
    [](Options& options) {
      auto text = std::make_shared<Text>();
      options
          .value("file", text->file,
                 "text to read, or with --decode token ids; *.jsonl is read as rows; - or none: "
                 "standard input")
          .wants("FILE");
      options.value("--model", text->model, "model folder or tokenizer.json").wants("DIR");
      options.flag("--decode", text->decode, "turn token ids into text");
      options.flag("--template", text->template_tokens,
                   "add the tokens the file's template puts around a text, such as the one that begins it");
      options.flag("--rows", text->rows, "read JSON lines and tokenize the `text` of each");
      options.flag("--labels", text->labels,
                   "read rows of any schema as training does, and print their labels too: -1 is not learned");
      options
          .value("--chat-template", text->chat,
                 "with --labels: how conversations become text; auto: the model's own template")
          .one_of({"auto", "chatml", "llama3", "plain"});
      options
          .value("--images", text->images,
                 "with --labels: folder of the pictures that rows name; default: that of the file")
          .wants("FOLDER");
      options.flag("--count", text->count, "print how many tokens there are instead of the ids");
      options.flag("--json", text->as_json, "print one JSON object");
      options.run([text] { run(*text); });
    });

}  // namespace
}  // namespace plimsoll::cli::tokenize_command
