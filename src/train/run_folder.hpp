// Where a run is stored and where it starts from: a new folder, or an existing one that is resumed.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/load.hpp"
#include "data/corpus.hpp"
#include "record/run_record.hpp"
#include "train/runtime.hpp"
#include "train/settings_sources.hpp"
#include "train/state.hpp"

namespace plimsoll {

// Everything known before step 1.
struct Start {
  RunState state;                        // settings resolved; step 0 for a fresh run
  std::filesystem::path folder;          // where this run writes
  std::optional<Checkpoint> checkpoint;  // what to load, where there is something
  bool same_folder = false;              // the checkpoint is of `folder`
  std::vector<std::string> notes;        // damaged checkpoints passed over, and the like
};

// Reads the checkpoint or run folder named by --resume, or picks a fresh folder. Writes nothing. InputError for
// everything that makes the run impossible.
Start find_start(const SettingsSources& sources);

// The corpus the settings name; with `tokenizer`, read as that model reads. `all_for_validation` holds for files alone;
// with `blank_images` every picture is white.
std::unique_ptr<Corpus> open_corpus(const Settings& settings, const Tokenizer* tokenizer = nullptr,
                                    bool all_for_validation = false, const ReadingProgress& reading = {},
                                    bool blank_images = false);

// Settles what depends on the data: tokenizer, vocabulary, fingerprint. InputError where a resumed run's data or
// settings do not agree with what was saved.
void bind_data(Start& start, const Corpus& corpus);

// InputError where metrics cannot be written, before anything is.
void check_metrics(const std::filesystem::path& file, const std::filesystem::path& folder);

// Makes the folder of a run with its run.json at once: whoever sees the folder can continue the run. A folder that is
// there already only gets the file, where it has none. InputError where it cannot be written.
void make_run_folder(const std::filesystem::path& folder, std::string_view run_json);

// The record of the run in `folder`, going on after `step`. A damaged one is put aside, with a note: no run is lost for
// its log.
RunRecord open_record(const std::filesystem::path& folder, int64_t step, std::vector<std::string>& notes);

// The model and tokenizer of a run or checkpoint, for sampling and evaluation.
struct SavedModel {
  RunState state;
  std::optional<Checkpoint> checkpoint;  // none: a published model as it is
  std::vector<std::string> notes;
};
// `model`, where it is not empty, is the published model's folder now.
SavedModel find_model(const std::filesystem::path& path, const std::string& model = {});
// The published model the settings name.
SavedModel published_model(const SettingsSources& sources);

// Reads the published model's weights, or those that are frozen; returns their checksum. InputError where that is not
// `expected`. Where nothing is to be read, returns `expected`.
std::string load_published(const Runtime& runtime, const Settings& settings, bool frozen_only,
                           const std::string& expected);

}  // namespace plimsoll
