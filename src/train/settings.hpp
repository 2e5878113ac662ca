// Everything a run can be told, its presets, and what it means for the model's size. One table
// (settings_table.hpp) describes each field once; the command line, the environment, TOML, JSON and the
// documentation are made from it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/recompute.hpp"

namespace plimsoll {

// The defaults are those of the preset `small`, which is what a run without any setting is.
struct Settings {
  std::string preset = "small";

  // Model. A learned position table of `positions` rows, of which the first `context` are used in training.
  int layers = 2, heads = 4, dim = 128, ff = 512, context = 64, positions = 128;
  int vocab = 0;  // 0: as many as the data has
  bool tied = false, head_bias = true;
  double dropout = 0;

  // A vision-language model that begins from nothing, by its name; the sizes above are those of its language model.
  std::string vision;
  int window_tiles = 0;  // tiles of pictures in one window, at most; 0: as many as the data has

  // Fine-tuning: the folder of a published model, from which the sizes above then come. All of it is trained unless
  // adapters or blocks are asked for.
  std::string model;
  int lora_rank = 0;                        // 0: no adapters
  double lora_alpha = 0, lora_dropout = 0;  // alpha 0: twice the rank
  std::string lora_targets = "all";
  int train_last = 0;       // 0: not only the last blocks
  std::string train_parts;  // of a vision-language model; empty: adapters, or everything

  // Optimisation. A step sees batch x accumulate windows of `context` tokens.
  int batch = 1, accumulate = 1, iterations = 10000;
  double lr = 1e-3, min_lr = 0;
  double tower_lr = 0, connector_lr = 0;  // of parts of a vision-language model; 0: lr
  int warmup = 100;
  int patience = 0;  // evaluations without improvement; 0: any number
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01, clip = 1.0;  // clip 0: none
  std::string optimizer = "adamw";  // or with moments in 8 bits
  uint64_t seed = 1;

  // Data.
  std::string data;  // empty: the embedded grammar
  std::string tokenizer = "char";
  std::string chat_template = "auto";
  std::string selective_loss = "off", selective_keys;
  int selective_from_epoch = 0;
  bool skip_bad = false;       // malformed lines of samples are left out
  int shuffle_buffer = 4096;   // samples waiting to be drawn
  double distrust_lambda = 0;  // how much provenance weighs; 0: not at all
  std::string images;          // folder of pictures; empty: that of the data
  std::string image_buffer = "16MB", image_cache, image_cache_in = "memory";
  bool image_draft = false;
  int loaders = 1;

  // Machine.
  int threads = 0;  // 0: all cores
  std::string gemm = "auto", isa = "auto";
  std::string precision = "f32";  // of what products multiply
  std::string memory;             // a size or a percentage; empty: no line drawn
  int micro_batch = 0;            // windows computed at once, a divisor of batch; 0: chosen
  int lanes = 0;                  // micro-batches side by side, a thread each; 0: chosen
  int leaves = 0;                 // partial sums a step's gradient is added up from; 0: one for each lane
  int loss_rows = 0;              // rows of logits held at once; 0: chosen
  std::string stream = "auto";    // whether frozen matrices are read when they are needed
  std::string recompute = "auto";

  // The guard.
  std::string guard = "on";
  double memory_threshold_percentage = 80;   // of the limit that applies
  double memory_leak_threshold_mb = 1;       // a step
  double batch_size_reduction_factor = 0.5;  // what a shrink leaves of the micro-batch
  std::optional<Size> max_memory;            // none: no line of its own
  std::string policy;                        // file with further keys

  // What happens along the way; 0 switches the event off.
  int log_every = 100, eval_every = 500, eval_batches = 20, sample_every = 500, sample_length = 100;
  int image_samples = 0;  // pictures the model is asked about at every evaluation
  std::string prompt;
  int checkpoint_every = 1000, keep = 3;
  std::string out;  // empty: runs/PRESET, numbered where that is taken
  std::string resume, metrics, tensorboard;

  // Not a setting: which of the processes that make a step together this is. Never saved; a run belongs to any number.
  struct Standing {
    int rank = 0, ranks = 1;
    int on_node = 1;    // ranks that share this machine's cores
    bool apart = true;  // some ranks are on other machines
    bool operator==(const Standing&) const = default;
  } standing;

  bool operator==(const Settings&) const = default;
  // Whether the data is rows of which some tokens are learned.
  bool has_labels() const;
  double adapter_alpha() const { return lora_alpha > 0 ? lora_alpha : 2. * lora_rank; }
  // What the model is called: its preset's name, vision-NAME, or that of the folder it comes from.
  std::string model_name() const;
};

// What `recompute` says; nothing for "auto". InputError for what it cannot say.
struct RecomputeChoice {
  Recompute how;
  int blocks;  // with Recompute::blocks
};
std::optional<RecomputeChoice> parse_recompute(std::string_view text, int layers);
std::string recompute_text(const RecomputeChoice& choice);

// The presets' names, smallest model first.
const std::vector<std::string>& preset_names();
// InputError names the known ones.
Settings preset(std::string_view name);

// The settings a run on a published model begins with; `adapters`: only those are trained.
Settings fine_tuning_defaults(bool adapters);
// Those of a vision-language model that begins from nothing. InputError names the known ones.
Settings vision_defaults(std::string_view name);
// Takes the sizes from the folder in `model`. InputError where it is not a model this program can compute.
void take_sizes_of_model(Settings& settings);

// Learned numbers of the model with `vocab` tokens: a tied head shares the token table.
uint64_t parameters(const Settings& settings, int vocab);

// InputError, one line, when the settings cannot be a run: out of range, or two of them contradict each
// other.
void validate(const Settings& settings);

// The first setting that differs and may not, if a run is to continue as though it had never stopped: model,
// batch, optimiser, seed and tokenizer. Its text says both values. How long to train, where to write and with
// how many threads may change; so may the path of the data.
std::optional<std::string> first_difference(const Settings& saved, const Settings& wanted);

}  // namespace plimsoll
