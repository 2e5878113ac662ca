// `plimsoll data check`: what a data set for fine-tuning would give, before anything is trained on it.
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "data/dataset.hpp"
#include "data/packing.hpp"

namespace plimsoll::cli::data_command {
namespace {

struct Text {
  std::string action, file, model, chat = "auto", selective, keys;
  int context = 512;
  bool as_json = false;
};

// A line for a figure that is not 0.
void print_line(const char* name, uint64_t figure, const std::string& meaning) {
  if (figure) fmt::print("{:12} {}\n", name, fmt::format(fmt::runtime(meaning), format_count(figure)));
}

void print_report(const DatasetFigures& figures, const Text& text, const ModelText& model, uint64_t windows) {
  const bool chats = figures.schema == Schema::messages || figures.schema == Schema::instruction;
  fmt::print("{:12} {}{}\n", "schema", figures.schema ? schema_name(*figures.schema) : "none",
             chats ? fmt::format(", template {}", chat_format_name(model.chat.format())) : "");
  fmt::print("{:12} {}\n", "rows", format_count(figures.rows));
  fmt::print("{:12} {}, {} learned\n", "tokens", format_count(figures.tokens), format_count(figures.targets));
  print_line("structure", figures.structural, "{} of the learned tokens are left out by selective loss");
  fmt::print("{:12} {} tokens, line {}\n", "longest", format_count(figures.longest), figures.longest_line);
  fmt::print("{:12} {} of {} tokens\n", "windows", format_count(windows),
             format_count(uint64_t(text.context)));
  print_line("cut off", figures.cut_tokens,
             fmt::format("{{}} tokens of {} rows longer than the context", format_count(figures.cut)));
  print_line("empty", figures.empty, "{} rows without text are left out");
  print_line("masked", figures.masked, "{} rows have nothing to learn and are left out");
  print_line("duplicates", figures.duplicates, "{} rows have the tokens of an earlier one");
  print_line("malformed", figures.bad, "{} rows; the first is " + figures.first_bad);
}

void run(const Text& text) {
  if (text.action != "check") fail_input("data {}: expected check", text.action);
  if (text.model.empty()) fail_input("--model is missing; give a model folder or a tokenizer.json");
  const ModelText model = load_model_text(text.model, text.chat);
  const DatasetOptions options{.context = text.context,
                               .skip_bad = true,
                               .selective = {parse_structure(text.selective), split_names(text.keys)}};
  const Dataset data(text.file, model, options);
  const DatasetFigures& figures = data.figures();
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < data.samples(); ++i) lengths.push_back(uint32_t(data.length(i) - 1));
  const uint64_t windows = pack(lengths, uint32_t(text.context)).windows();
  if (figures.bad || !data.samples()) exit_code = int(Exit::usage);
  if (!text.as_json) return print_report(figures, text, model, windows);
  const nlohmann::ordered_json out = {
      {"schema", figures.schema ? nlohmann::ordered_json(schema_name(*figures.schema)) : nullptr},
      {"template", chat_format_name(model.chat.format())},
      {"context", text.context},
      {"rows", figures.rows},
      {"samples", data.samples()},
      {"tokens", figures.tokens},
      {"targets", figures.targets},
      {"structural", figures.structural},
      {"longest", figures.longest},
      {"longest_line", figures.longest_line},
      {"windows", windows},
      {"cut_rows", figures.cut},
      {"cut_tokens", figures.cut_tokens},
      {"empty_rows", figures.empty},
      {"masked_rows", figures.masked},
      {"duplicate_rows", figures.duplicates},
      {"bad_rows", figures.bad},
      {"first_bad", figures.bad ? nlohmann::ordered_json(figures.first_bad) : nullptr}};
  fmt::print("{}\n", out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

Command command(
    38, "data", "check a data set for fine-tuning",
    "plimsoll data check chat.jsonl --model SmolLM2-135M --context 1024", [](Options& options) {
      auto text = std::make_shared<Text>();
      options.value("action", text->action, "check").needed().wants("check");
      options.value("file", text->file, "rows as JSON lines").needed().wants("FILE");
      options.value("--model", text->model, "model folder or tokenizer.json").wants("DIR");
      options.value("--context", text->context, "tokens of a window; longer samples are cut").wants("N");
      options
          .value("--chat-template", text->chat,
                 "how conversations become text; auto: the model's own template, plain if it has none")
          .one_of({"auto", "chatml", "llama3", "plain"});
      options
          .value("--selective-loss", text->selective,
                 "count the tokens that only write the structure of JSON")
          .one_of({"off", "conservative", "moderate", "aggressive"});
      options
          .value("--selective-keys", text->keys, "keys that are structure, separated by commas; default: all")
          .wants("NAMES");
      options.flag("--json", text->as_json, "print one JSON object");
      options.run([text] { run(*text); });
    });

}  // namespace
}  // namespace plimsoll::cli::data_command
