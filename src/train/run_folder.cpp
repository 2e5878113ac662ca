#include "train/run_folder.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "data/byte_text.hpp"
#include "data/packed_corpus.hpp"
#include "data/rows.hpp"
#include "data/sample_corpus.hpp"
#include "data/text_corpus.hpp"
#include "data/token_corpus.hpp"
#include "train/model_spec.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t largest_state = 16'000'000;

bool holds_a_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "run.db", ignored) || fs::exists(folder / "run.json", ignored) ||
         !list_checkpoints(folder).empty();
}

// runs/small, or runs/small-2, -3, … where that is taken; of a published model its folder's name.
fs::path fresh_folder(const Settings& settings) {
  if (!settings.out.empty()) {
    if (holds_a_run(settings.out))
      fail_input("{} holds a run already; continue it with --resume {}, or name another --out", settings.out,
                 settings.out);
    return settings.out;
  }
  fs::path folder = fs::path("runs") / settings.model_name();
  for (int n = 2; holds_a_run(folder); ++n)
    folder = fs::path("runs") / fmt::format("{}-{}", settings.model_name(), n);
  return folder;
}

// No token may be beyond the rows of the model.
void check_vocabulary(const RunState& state, int tokens) {
  if (state.vocab >= tokens) return;
  fail_input("vocab: {} is too few for the {} tokens of the {}; {}", state.vocab, tokens,
             state.settings.model.empty() ? "data" : "model's tokenizer",
             state.settings.model.empty() ? "leave --vocab out"
                                          : "config.json and tokenizer.json do not belong together");
}

// The published model must compute what it did when the run began.
void check_computation(const RunState& state) {
  if (state.settings.model.empty() || state.base_config.empty()) return;
  using Json = nlohmann::ordered_json;
  const Json then = parse_json<Json>(state.base_config),
             now = parse_json<Json>(computation_of(open_pretrained(state.settings.model)->config));
  for (const auto& [key, value] : then.items())
    if (const auto found = now.find(key); found == now.end() || *found != value)
      fail_input("--model {}: its config.json is not the one this run began with: '{}' was {} and {}",
                 state.settings.model, key, value.dump(),
                 found == now.end() ? "no longer counts" : "is " + found->dump());
}

// A state on disk has only the checksum of a published model's tokenizer.
void read_tokenizer(RunState& state) {
  check_computation(state);
  if (state.settings.vision.empty())
    state.tokenizer.read_from(state.settings.model, state.settings.chat_template);
  else if (const Tokenizer own = Tokenizer::of_text(byte_model_text()); own == state.tokenizer)
    state.tokenizer = own;
  else
    fail_input("this run was begun with another tokenizer of --vision; this version cannot read its text");
  check_vocabulary(state, state.tokenizer.vocabulary());
}

}  // namespace

Start find_start(const SettingsSources& sources) {
  Start start;
  const fs::path from = resume_path(sources);
  if (from.empty()) {
    start.state.settings = resolve(sources);
    start.folder = fresh_folder(start.state.settings);
    return start;
  }
  std::error_code ignored;
  if (!fs::exists(from, ignored))
    fail_input("--resume {}: there is no such run or checkpoint", from.string());
  const bool empty = fs::is_directory(from, ignored) && !fs::exists(from / "manifest.json", ignored) &&
                     list_checkpoints(from).empty();
  if (empty) {
    // A run that ended before its first checkpoint: everything it had was a function of its settings.
    start.folder = from;
    start.same_folder = true;
    if (fs::exists(from / "run.json", ignored)) {
      const RunState saved = parse_state(read_file(from / "run.json", largest_state));
      start.state = saved;
      start.state.settings = resolve(sources, &saved.settings);
      read_tokenizer(start.state);
      if (auto difference = first_difference(saved.settings, start.state.settings))
        fail_input("--resume {}: {}", from.string(), *difference);
    } else {
      if (!fs::is_empty(from, ignored))
        fail_input("--resume {}: there is no run in it; start one with --out FOLDER", from.string());
      start.state.settings = resolve(sources);
    }
    start.notes.push_back(
        fmt::format("{} has no checkpoint yet; starting from the beginning", from.string()));
    return start;
  }
  const WholeCheckpoint whole = newest_whole(plimsoll::resolve(from));
  start.notes = whole.warnings;
  start.checkpoint = whole.checkpoint;
  const RunState saved = parse_state(whole.state);
  start.state = saved;
  start.state.settings = resolve(sources, &saved.settings);
  read_tokenizer(start.state);
  if (auto difference = first_difference(saved.settings, start.state.settings))
    fail_input("--resume {}: {}", from.string(), *difference);
  if (const auto asked = start.state.settings.iterations; uint64_t(asked) < saved.step)
    fail_input(
        "--resume {}: it has done {} iterations, more than the {} asked for; give more --iterations, or "
        "start anew "
        "with --out FOLDER",
        from.string(), saved.step, asked);
  const fs::path home = fs::absolute(whole.checkpoint.folder).lexically_normal().parent_path();
  start.folder = sources.command_line.contains("out") ? fs::path(start.state.settings.out) : home;
  start.same_folder = fs::weakly_canonical(start.folder, ignored) == fs::weakly_canonical(home, ignored);
  if (!start.same_folder && holds_a_run(start.folder))
    fail_input("--out {} holds another run already; name another folder", start.folder.string());
  return start;
}

namespace {

// As the published model reads.
std::unique_ptr<Corpus> open_with_model(const Settings& s, const Tokenizer* tokenizer,
                                        bool all_for_validation, const ReadingProgress& reading,
                                        bool blank_images) {
  if (s.data.empty()) fail_input("--{} goes with --data FILE", s.vision.empty() ? "model" : "vision");
  Tokenizer own = tokenizer          ? *tokenizer
                  : s.vision.empty() ? Tokenizer::of_model(s.model, s.chat_template)
                                     : Tokenizer::of_text(byte_model_text());
  if (!s.has_labels())
    return std::make_unique<TokenCorpus>(s.data, std::move(own), all_for_validation ? 0.0 : 0.9, reading);
  const SelectiveLoss selective{parse_structure(s.selective_loss), split_names(s.selective_keys)};
  DatasetOptions rows{s.context, s.skip_bad, selective};
  if (const auto pictures = picture_tokens(s))
    rows.pictures =
        PictureOptions{*pictures, s.images.empty() ? fs::path(s.data).parent_path() : fs::path(s.images),
                       parse_bytes(s.image_buffer), blank_images};
  else if (blank_images)
    fail_input("--blank-images: this model looks at no pictures");
  return std::make_unique<PackedCorpus>(
      s.data, std::move(own), PackedOptions{rows, uint64_t(s.selective_from_epoch), all_for_validation},
      reading);
}

}  // namespace

std::unique_ptr<Corpus> open_corpus(const Settings& settings, const Tokenizer* tokenizer,
                                    bool all_for_validation, const ReadingProgress& reading,
                                    bool blank_images) {
  if (settings.tokenizer == "model")
    return open_with_model(settings, tokenizer, all_for_validation, reading, blank_images);
  if (blank_images) fail_input("--blank-images: this model looks at no pictures");
  std::error_code ignored;
  const bool samples = names_rows(settings.data) && !fs::is_directory(settings.data, ignored);
  if (settings.distrust_lambda > 0 && !samples)
    fail_input("distrust_lambda: only samples have a provenance; give --data FILE.jsonl or leave it out");
  if (settings.data.empty()) {
    auto corpus = std::make_unique<GrammarCorpus>(settings.seed);
    if (tokenizer && *tokenizer != corpus->tokenizer())
      fail_input("the model was not trained on the embedded grammar; give --data FILE");
    return corpus;
  }
  auto open = [&](const auto& how) -> std::unique_ptr<Corpus> {
    if (samples)
      return std::make_unique<SampleCorpus>(settings.data, how,
                                            SampleOptions{settings.skip_bad, all_for_validation}, reading);
    return std::make_unique<TextCorpus>(settings.data, how, all_for_validation ? 0.0 : 0.9, reading);
  };
  return tokenizer ? open(*tokenizer) : open(parse_tokenizer_kind(settings.tokenizer));
}

void bind_data(Start& start, const Corpus& corpus) {
  RunState& state = start.state;
  if (start.checkpoint || !state.fingerprint.empty()) {
    if (state.fingerprint != corpus.fingerprint())
      fail_input("the data is not what this run was trained on ({}); resuming would not continue it",
                 corpus.description());
    return;
  }
  state.tokenizer = corpus.tokenizer();
  state.fingerprint = corpus.fingerprint();
  if (state.settings.window_tiles == 0 && corpus.packed())
    state.settings.window_tiles = int(corpus.packed()->most_tiles());
  state.vocab = state.settings.vocab == 0 ? corpus.vocabulary() : state.settings.vocab;
  check_vocabulary(state, corpus.vocabulary());
}

void check_metrics(const fs::path& file, const fs::path& folder) {
  std::error_code ignored;
  const fs::path home = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (fs::is_directory(file, ignored))
    fail_input("--metrics {}: that is a folder; name a file", file.string());
  if (fs::weakly_canonical(home, ignored) == fs::weakly_canonical(folder, ignored)) return;
  const bool there = fs::exists(file, ignored);
  if (const int code = may_write(there ? file : home))
    fail_input("--metrics {}: {}; give a file in a writable folder", file.string(), error_text(code));
}

void make_run_folder(const fs::path& folder, std::string_view run_json) {
  std::error_code error;
  auto check = [&] {
    if (error) fail_input("--out {}: {}; give a writable folder", folder.string(), error.message());
  };
  if (fs::exists(folder, error)) {
    error = {may_write(folder), std::generic_category()};
    check();
    if (!fs::exists(folder / "run.json", error)) write_atomically(folder / "run.json", run_json);
    return;
  }
  fs::path whole = fs::absolute(folder, error).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  fs::create_directories(whole.parent_path(), error);
  check();
  const fs::path temporary = whole.parent_path() / fmt::format(".{}.tmp", whole.filename().string());
  fs::create_directory(temporary, error);
  check();
  write_atomically(temporary / "run.json", run_json);
  fs::rename(temporary, whole, error);
  check();
}

RunRecord open_record(const fs::path& folder, int64_t step, std::vector<std::string>& notes) {
  const fs::path path = folder / "run.db";
  const RecordOptions options{.kind = RunKind::train};
  try {
    return RunRecord::resume(path, options, step);
  } catch (const InputError& damage) {
    std::error_code error;
    if (!fs::exists(path, error)) throw;
    const std::string aside = path.string() + ".damaged";
    fs::rename(path, aside, error);
    if (error) throw;
    fs::rename(path.string() + "-wal", aside + "-wal", error);
    fs::remove(path.string() + "-shm", error);
    notes.push_back(
        fmt::format("{}; the record was renamed to {} and a new one was started", damage.what(), aside));
  }
  return RunRecord::resume(path, options, step);
}

SavedModel find_model(const fs::path& path, const std::string& model) {
  const WholeCheckpoint whole = newest_whole(plimsoll::resolve(path));
  SavedModel saved{parse_state(whole.state), whole.checkpoint, whole.warnings};
  std::string& named = saved.state.settings.model;
  if (named.empty() && !model.empty())
    fail_input("--model {}: {} did not start from a published model; leave it out", model, path.string());
  if (!model.empty()) named = model;
  std::error_code ignored;
  if (!named.empty() && !fs::exists(named, ignored))
    fail_input("{}: the model it started from is not in {}; name its folder with --model DIR", path.string(),
               named);
  read_tokenizer(saved.state);
  return saved;
}

SavedModel published_model(const SettingsSources& sources) {
  RunState state;
  state.settings = resolve(sources);
  state.vocab = state.settings.vocab;
  if (state.settings.tokenizer == "model")
    state.tokenizer = Tokenizer::of_model(state.settings.model, state.settings.chat_template);
  check_vocabulary(state, state.tokenizer.vocabulary());
  return {std::move(state), std::nullopt, {}};
}

std::string load_published(const Runtime& runtime, const Settings& settings, bool frozen_only,
                           const std::string& expected) {
  const auto slots = runtime.given_slots(frozen_only);
  if (slots.empty()) return expected;
  const auto model = open_pretrained(settings.model);
  const bool streams = runtime.program().model->spec().source != nullptr;
  std::unordered_map<std::string, ChecksumText> each;
  const ChecksumText found = model->weights.load(slots, streams ? &each : nullptr);
  if (streams) model->stream->start(each);
  if (!expected.empty() && view(found) != expected)
    fail_input("--model {}: its weights are not those this run began with (checksum {}, expected {})",
               settings.model, view(found), expected);
  return std::string(view(found));
}

}  // namespace plimsoll
