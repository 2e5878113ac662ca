// `plimsoll eval`: the loss of a trained model on its own validation part, or on other text.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "train/evaluate.hpp"
#include "train/run_folder.hpp"
#include "train/saved_model.hpp"

namespace plimsoll::cli::eval_command {
namespace {

std::string path, data, gemm = "auto";
bool as_json = false, everything = false, skip_bad = false;
int threads = 0;

std::unique_ptr<Corpus> corpus_for(const RunState& state) {
  Settings settings = state.settings;
  settings.distrust_lambda = 0;  // says how the model was trained, not what it is measured on
  if (!data.empty()) settings.data = data, settings.skip_bad = false;
  settings.skip_bad |= skip_bad;
  return open_corpus(settings, &state.tokenizer, everything);
}

nlohmann::ordered_json group_json(const GroupLoss& group) {
  return {{"loss", group.targets ? nlohmann::ordered_json(group.loss) : nullptr}, {"tokens", group.targets}};
}

void print_group(const char* name, const GroupLoss& group) {
  if (group.targets)
    fmt::print("{} provenance: {:.4f} over {} tokens\n", name, group.loss, format_count(group.targets));
}

void run() {
  if (threads < 0) fail_input("--threads {} is negative; 0 takes every core", threads);
  if (everything && data.empty()) fail_input("--all goes with --data FILE");
  const SavedModel saved = find_model(path);
  for (const std::string& note : saved.notes) fmt::print(stderr, "note: {}\n", note);
  const Settings& settings = saved.state.settings;
  const auto corpus = corpus_for(saved.state);
  for (const std::string& note : corpus->notes()) fmt::print(stderr, "note: {}\n", note);
  // Asked for all of it, all of it is measured.
  const auto [windows, part] = everything ? final_windows(*corpus, settings.context, UINT64_MAX)
                                          : final_windows(*corpus, settings.context);
  LoadedModel model(saved,
                    {.generate = false, .evaluate_batch = settings.batch, .threads = threads, .gemm = gemm});
  std::vector<float> scratch(size_t(settings.context));
  const ValidationLoss measured = evaluate(model.runtime, windows, scratch);
  const double loss = measured.loss;
  const auto floor = corpus->floor(settings.context);
  if (as_json) {
    nlohmann::ordered_json out = {{"loss", loss},
                                  {"perplexity", std::exp(loss)},
                                  {"bits_per_token", loss / std::log(2.)},
                                  {"tokens", windows.targets()},
                                  {"tokens_in_data", part ? nlohmann::ordered_json(*part) : nullptr},
                                  {"entropy_floor", floor ? nlohmann::ordered_json(*floor) : nullptr},
                                  {"step", saved.checkpoint.step}};
    if (measured.grouped)
      out["provenance"] = {{"high", group_json(measured.high)}, {"low", group_json(measured.low)}};
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("Loss: {:.4f} nats/token ({:.3f} bits, perplexity {:.2f}) over {} of {}\n", loss,
             loss / std::log(2.), std::exp(loss), targets_text(windows.targets(), part),
             corpus->description());
  if (measured.grouped) {
    print_group("High", measured.high);
    print_group("Low", measured.low);
  }
  if (floor) fmt::print("Entropy floor: {:.4f} (+{:.1f} %)\n", *floor, 100 * (loss / *floor - 1));
}

Command command(
    40, "eval", "measure a trained model's loss",
    "plimsoll eval runs/nano --data other.txt\n  plimsoll eval runs/mine --data samples.jsonl --all",
    [](Options& options) {
      options.value("run", path, "run folder or checkpoint").needed().wants("RUN");
      options
          .value("--data", data,
                 "text or samples (*.jsonl) to measure on, the validation part as in training; default: "
                 "the run's own data")
          .wants("FILE|DIR");
      options.flag("--all", everything, "with --data: use all of it, not only the validation part");
      options.flag("--skip-bad", skip_bad, "samples: skip malformed lines instead of refusing the file");
      options.value("--threads", threads, "number of compute threads; 0: all cores").wants("N");
      options.value("--gemm", gemm, "matrix products: auto, native, onednn, cblas or plain").wants("NAME");
      options.flag("--json", as_json, "print one JSON object");
      options.run(run);
    });

}  // namespace
}  // namespace plimsoll::cli::eval_command
