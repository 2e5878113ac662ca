// `plimsoll sample`: text from a trained model.

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/mask.hpp"
#include "cli/command.hpp"
#include "cli/settings_flags.hpp"
#include "data/labels.hpp"
#include "data/pictures.hpp"
#include "image/picture_file.hpp"
#include "platform/descriptors.hpp"
#include "train/generate.hpp"
#include "train/model_spec.hpp"
#include "train/run_folder.hpp"
#include "train/saved_model.hpp"

namespace plimsoll::cli::sample_command {
namespace {

std::string path, question, prompt;
std::vector<std::string> images;
bool as_json = false, interactive = false;
int length = 200, threads = 0;
std::string gemm = "auto", memory, stream = "auto";
SamplingOptions options{.temperature = 0.8};
SettingsSources published;  // --model and what goes with it

void check() {
  if (!question.empty() && !prompt.empty()) fail_input("give either --chat or --prompt");
  if (interactive && (!question.empty() || !prompt.empty() || !images.empty() || as_json))
    fail_input("--interactive asks for prompts and writes text; leave {} out", as_json           ? "--json"
                                                                               : !images.empty() ? "--image"
                                                                               : prompt.empty()  ? "--chat"
                                                                                                : "--prompt");
  if (length < 1) fail_input("--length {} is not positive", length);
  if (!(options.temperature >= 0))
    fail_input("--temperature {} is negative; 0 takes the likeliest token", options.temperature);
  if (options.top_k < 0) fail_input("--top-k {} is negative; 0 takes all tokens", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) fail_input("--top-p {} is not in (0, 1]", options.top_p);
  if (threads < 0) fail_input("--threads {} is negative; 0 takes every core", threads);
}

// Standard output. A terminal gets whole characters and no control characters but line ends and tabs, as a model of
// bytes may write anything; everything else gets the bytes as they come.
class Output {
 public:
  void write(std::string_view text) {
    if (!terminal_) return put(text);
    for (const char c : text) {
      // A byte that cannot go on what waits begins something new.
      if ((c & 0xc0) != 0x80 || waiting_.size() == 4) flush();
      waiting_ += c;
      if ((c & 0x80) == 0) flush();
    }
  }
  void end() {
    flush();
    put("\n");
  }
  bool good() const { return std::ferror(stdout) == 0; }

 private:
  void flush() {
    put(waiting_ == "\n" || waiting_ == "\t" ? waiting_ : escape(waiting_));
    waiting_.clear();
  }
  static void put(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  bool terminal_ = platform::is_tty(platform::standard_output);
  std::string waiting_;  // the beginning of a character
};

// Writes each token as it comes; a character of several bytes may span byte tokens.
void write_stream(Generator& generator, const Tokenizer& tokenizer, std::string_view beginning,
                  const std::vector<int32_t>& tokens) {
  Output output;
  output.write(beginning);
  std::string piece;
  generator.stream(tokens, length, options, [&](int32_t token) {
    piece.clear();
    tokenizer.append(piece, token);
    output.write(piece);
    return output.good();
  });
  output.end();
}

void converse(Generator& generator, const Tokenizer& tokenizer) {
  fmt::print(stderr, "Type a beginning and press enter; an empty line or end of file leaves.\n");
  for (std::string line; fmt::print(stderr, "> "), std::getline(std::cin, line) && !line.empty();) {
    try {
      const auto tokens = tokenizer.encode(line);
      write_stream(generator, tokenizer, line, tokens);
      ++options.seed;
    } catch (const InputError& e) {
      fmt::print(stderr, "{}\n", escape(e.what()));
    }
  }
}

// The conversation so far as tokens, up to where the assistant answers.
std::vector<int32_t> ask(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != Tokenizer::Kind::model)
    fail_input(
        "--chat goes with a published model, whose template says how a conversation is written; use "
        "--prompt");
  return Labeller(*tokenizer.model(), true).prompt({{"user", question}});
}

// The same with pictures before the question; the generator is shown them.
struct Shown {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> tiles;
  int64_t count = 0;  // of them
};
Shown ask_with_pictures(const SavedModel& saved) {
  const Settings& settings = saved.state.settings;
  const auto known = picture_tokens(settings);
  if (!known) fail_input("--image: this model looks at no pictures");
  Row row;
  row.schema = Schema::messages;
  row.messages = {{"user", question.empty() ? prompt : question}};
  Shown shown;
  for (const std::string& image : images) {
    const Tiles tiles = load_tiles(image, known->settings);
    shown.count += tiles.grid.tiles();
    shown.tiles.insert(shown.tiles.end(), tiles.pixels.begin(), tiles.pixels.end());
    row.pictures.push_back(std::filesystem::absolute(image).string());
    row.messages[0].content.insert(0, picture_mark);
  }
  Pictures(PictureOptions{*known, "", UINT64_MAX}).add(row);
  shown.tokens = Labeller(*saved.state.tokenizer.model(), true).prompt(row.messages);
  if (shown.tokens.size() > size_t(settings.context))
    fail_input("--image: the prompt has {} tokens with its pictures, more than the context of {}",
               shown.tokens.size(), settings.context);
  return shown;
}

// Writes what the model says until it ends its answer.
void answer(Generator& generator, const SavedModel& saved, const std::vector<int32_t>& tokens) {
  const ModelText& model = *saved.state.tokenizer.model();
  Output output;
  std::string piece, said;
  generator.stream(tokens, length, options, [&](int32_t token) {
    if (model.ends_answer(token)) return false;
    piece.clear();
    saved.state.tokenizer.append(piece, token);
    said += piece;
    if (!as_json) output.write(piece);
    return as_json || output.good();
  });
  if (!as_json) return output.end();
  nlohmann::ordered_json out = {{"text", said}};
  question.empty() ? out["prompt"] = prompt : out["chat"] = question;
  if (saved.checkpoint) out["step"] = saved.checkpoint->step;
  out["seed"] = options.seed;
  fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void write(Generator& generator, const SavedModel& saved, const std::vector<int32_t>& tokens) {
  const Tokenizer& tokenizer = saved.state.tokenizer;
  if (interactive) return converse(generator, tokenizer);
  if (!question.empty() || !images.empty()) return answer(generator, saved, tokens);
  if (!as_json) return write_stream(generator, tokenizer, prompt, tokens);
  const auto text = generator.generate(tokens, length, options);
  if (!text) return;
  nlohmann::ordered_json out = {{"text", std::string(*text)}, {"prompt", prompt}};
  if (saved.checkpoint) out["step"] = saved.checkpoint->step;
  out["seed"] = options.seed;
  fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void run() {
  check();
  const SavedModel saved = run_or_published(path, published);
  for (const std::string& note : saved.notes) fmt::print(stderr, "note: {}\n", note);
  const Tokenizer& tokenizer = saved.state.tokenizer;
  if (prompt.empty()) prompt = saved.state.settings.prompt;
  std::vector<int32_t> tokens = question.empty() ? tokenizer.encode(prompt) : ask(tokenizer);
  Shown shown;
  if (!images.empty()) shown = ask_with_pictures(saved), tokens = shown.tokens;
  if (tokens.empty())
    tokens = tokenizer.kind() == Tokenizer::Kind::characters
                 ? std::vector{std::max(0, tokenizer.token_of(U'\n'))}
                 : tokenizer.encode("\n");
  LoadedModel model(saved, {.generate = true,
                            .evaluate_batch = 0,
                            .tiles = shown.count,
                            .threads = threads,
                            .gemm = gemm,
                            .memory = memory,
                            .stream = stream});
  Generator generator(model.runtime, tokenizer, length + int(tokens.size()));
  if (!shown.tiles.empty()) generator.show(shown.tiles);
  write(generator, saved, tokens);
  if (const std::string damage = model.runtime.damage(); !damage.empty()) fail("{}", damage);
}

Command command(
    30, "sample", "generate text with a trained model",
    "plimsoll sample runs/small --prompt 'the cat' --length 300 --temperature 0.7 --top-k 20",
    [](Options& flags) {
      flags.value("run", path, "run folder or checkpoint").wants("RUN");
      add_published(flags, published);
      flags.value("--prompt", prompt, "text to continue").wants("TEXT");
      flags.value("--chat", question, "ask a published model this, in its own chat template").wants("TEXT");
      flags
          .value(
              "--image", [](const std::string& file) { images.push_back(file); },
              "show the model this picture before the question; may be given more than once")
          .wants("FILE")
          .repeatable();
      flags.flag("--interactive", interactive, "ask for one prompt after another");
      flags.value("--length", length, "number of tokens to generate (default 200)").wants("N");
      flags
          .value("--temperature", options.temperature,
                 "sampling temperature; 0: always the most likely token (default 0.8)")
          .wants("X");
      flags.value("--top-k", options.top_k, "sample from the K most likely tokens only; 0: all").wants("K");
      flags
          .value("--top-p", options.top_p,
                 "sample from the most likely tokens whose probabilities add up to P (default 1)")
          .wants("P");
      flags.value("--seed", options.seed, "random seed; the same seed gives the same text (default 1)")
          .wants("N");
      flags.value("--threads", threads, "number of compute threads; 0: all cores").wants("N");
      flags.value("--gemm", gemm, "matrix products: auto, native, onednn, cblas or plain").wants("NAME");
      add_loading(flags, memory, stream);
      flags.flag("--json", as_json, "print one JSON object");
      flags.run(run);
    });

}  // namespace
}  // namespace plimsoll::cli::sample_command
