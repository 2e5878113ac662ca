// `plimsoll eval`: the loss of a trained model on its own validation part, or on other text.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/settings_flags.hpp"
#include "data/packed_corpus.hpp"
#include "train/answers.hpp"
#include "train/evaluate.hpp"
#include "train/run_folder.hpp"
#include "train/saved_model.hpp"

namespace plimsoll::cli::eval_command {
namespace {

std::string path, data, images, gemm = "auto", logits, memory, stream = "auto";
SettingsSources published;  // --model and what goes with it
bool as_json = false, everything = false, skip_bad = false, answers = false, blank = false;
int threads = 0;

std::unique_ptr<Corpus> corpus_for(const RunState& state) {
  Settings settings = state.settings;
  settings.distrust_lambda = 0;  // says how the model was trained, not what it is measured on
  if (!data.empty()) settings.data = data, settings.skip_bad = false;
  if (!images.empty()) settings.images = images;
  settings.skip_bad |= skip_bad;
  return open_corpus(settings, &state.tokenizer, everything, {}, blank);
}

nlohmann::ordered_json group_json(const GroupLoss& group) {
  return {{"loss", group.targets ? nlohmann::ordered_json(group.loss) : nullptr}, {"tokens", group.targets}};
}

void print_group(const char* name, const GroupLoss& group) {
  if (group.targets)
    fmt::print("{} provenance: {:.4f} over {} tokens\n", name, group.loss, format_count(group.targets));
}

// The first window's tokens [T] and logits [T, V].
void write_logits(Runtime& runtime, const Evaluation& windows) {
  const Program& program = runtime.program();
  Executor& executor = runtime.executor();
  const Shape shape = runtime.graph()[program.window_logits].type.shape;
  int32_t* const tokens = executor.tokens(program.window_tokens);
  std::fill_n(tokens, shape[0] + 1, 0);
  if (program.window_positions != no_value) {
    std::vector<int32_t> targets(static_cast<size_t>(shape[0]));
    PictureFeed(runtime, windows.corpus(), 0).show_window(windows.number(0));
    windows.fill(0, {{tokens, size_t(shape[0]) + 1},
                     targets,
                     {executor.tokens(program.window_positions), size_t(shape[0])}});
  } else {
    windows.fill(0, {tokens, size_t(shape[0]) + 1});
  }
  const std::vector<int32_t> given(tokens, tokens + shape[0] + 1);  // their bytes are used for others later
  if (!executor.run(program.window, Moment{})) fail("{}", runtime.damage());
  const std::vector<TensorView> tensors = {
      {"logits", {shape[0], shape[1]}, executor.data(program.window_logits)},
      {"tokens", {shape[0] + 1}, given.data(), DType::i32}};
  std::string file = make_safetensors_header(tensors);
  for (const TensorView& tensor : tensors)
    file.append(static_cast<const char*>(tensor.data), tensor_bytes(tensor.shape, tensor.dtype));
  write_durably(logits, file);
}

void run() {
  if (threads < 0) fail_input("--threads {} is negative; 0 takes every core", threads);
  if (everything && data.empty()) fail_input("--all goes with --data FILE");
  const SavedModel saved = run_or_published(path, published);
  if (!saved.checkpoint && data.empty()) fail_input("--model goes with --data FILE");
  for (const std::string& note : saved.notes) fmt::print(stderr, "note: {}\n", note);
  const Settings& settings = saved.state.settings;
  const auto corpus = corpus_for(saved.state);
  for (const std::string& note : corpus->notes()) fmt::print(stderr, "note: {}\n", note);
  // Asked for all of it, all of it is measured.
  const auto [windows, part] = everything ? final_windows(*corpus, settings.context, UINT64_MAX)
                                          : final_windows(*corpus, settings.context);
  if (answers && !corpus->packed())
    fail_input(
        "--answers: the data has no answers; give rows with a published model's or a vision model's run");
  LoadedModel model(saved, {.generate = false,
                            .evaluate_batch = settings.batch,
                            .logits = answers || !logits.empty(),
                            .packed = corpus->packed() != nullptr,
                            .tiles = corpus->packed() ? int64_t(corpus->packed()->most_tiles()) : 0,
                            .threads = threads,
                            .gemm = gemm,
                            .memory = memory,
                            .stream = stream});
  if (!logits.empty()) write_logits(model.runtime, windows);
  std::vector<float> scratch(size_t(settings.context));
  const ValidationLoss measured = evaluate(model.runtime, windows, scratch);
  const double loss = measured.loss;
  std::optional<AnswerCount> said;
  if (answers) said = count_answers(model.runtime, windows);
  const auto floor = corpus->floor(settings.context);
  if (as_json) {
    nlohmann::ordered_json out = {{"loss", loss},
                                  {"perplexity", std::exp(loss)},
                                  {"bits_per_token", loss / std::log(2.)},
                                  {"tokens", windows.targets()},
                                  {"tokens_in_data", part ? nlohmann::ordered_json(*part) : nullptr},
                                  {"entropy_floor", floor ? nlohmann::ordered_json(*floor) : nullptr},
                                  {"val_loss", loss},
                                  {"targets", windows.targets()}};
    if (saved.checkpoint) out["step"] = saved.checkpoint->step;
    if (said) out["answers"] = {{"rows", said->rows}, {"exact", said->exact}, {"accuracy", said->accuracy()}};
    if (blank) out["blank_images"] = true;
    if (measured.grouped)
      out["provenance"] = {{"high", group_json(measured.high)}, {"low", group_json(measured.low)}};
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("Loss: {:.4f} nats/token ({:.3f} bits, perplexity {:.2f}) over {} of {}\n", loss,
             loss / std::log(2.), std::exp(loss), targets_text(windows.targets(), part),
             corpus->description());
  if (said)
    fmt::print("Exact answers: {:.1f} % ({} of {} rows){}\n", 100 * said->accuracy(),
               format_count(said->exact), format_count(said->rows), blank ? ", images blanked" : "");
  if (measured.grouped) {
    print_group("High", measured.high);
    print_group("Low", measured.low);
  }
  if (floor) fmt::print("Entropy floor: {:.4f} (+{:.1f} %)\n", *floor, 100 * (loss / *floor - 1));
}

Command command(
    40, "eval", "measure a trained model's loss",
    "plimsoll eval runs/nano --data other.txt\n  plimsoll eval runs/mine --data samples.jsonl --all\n  "
    "plimsoll "
    "eval --model SmolLM2-135M --data book.txt --context 512",
    [](Options& options) {
      options.value("run", path, "run folder or checkpoint").wants("RUN");
      add_published(options, published);
      options
          .value("--data", data,
                 "text or samples (*.jsonl) to measure on, the validation part as in training; default: "
                 "the run's own data")
          .wants("FILE|DIR");
      options
          .value("--images", images,
                 "folder of the pictures that rows name; default: the run's, or that of the data")
          .wants("FOLDER");
      options.flag("--all", everything, "with --data: use all of it, not only the validation part");
      options.flag("--skip-bad", skip_bad, "samples: skip malformed lines instead of refusing the file");
      options.flag(
          "--answers", answers,
          "rows: also count those of which every learned token is the likeliest one, so that the model would "
          "answer exactly so");
      options.flag("--blank-images", blank, "show a white picture in the place of every picture");
      options.value("--threads", threads, "number of compute threads; 0: all cores").wants("N");
      options.value("--gemm", gemm, "matrix products: auto, native, onednn, cblas or plain").wants("NAME");
      add_loading(options, memory, stream);
      options
          .value("--logits", logits,
                 "also write the logits of the first window, to compare with another program: tensors tokens "
                 "and logits")
          .wants("FILE.safetensors");
      options.flag("--json", as_json, "print one JSON object");
      options.run(run);
    });

}  // namespace
}  // namespace plimsoll::cli::eval_command
