// A published model in a folder: what it is, and where its weights lie. Opening one reads no weights.
//
//   auto model = open_pretrained("SmolLM2-135M");       // the same folder is opened once a process
//   ModelSpec spec = adapted(*model, tuning);           // frozen, adapted or trained
//   model->weights.load(slots);
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "pretrained/config.hpp"
#include "pretrained/stream.hpp"
#include "pretrained/weights.hpp"

namespace plimsoll {

struct Pretrained {
  std::filesystem::path folder;
  PretrainedConfig config;
  PretrainedWeights weights;
  std::shared_ptr<WeightStream> stream = nullptr;  // of `weights`
};

// InputError for a folder that is not a model this program can compute.
std::shared_ptr<const Pretrained> open_pretrained(const std::string& folder);

// What is trained of a model.
struct Tuning {
  int64_t context = 0;
  enum class What : uint8_t { nothing, everything, adapters, last_blocks } what = What::nothing;
  int64_t last_blocks = 0;
  int64_t rank = 0;
  double alpha = 0;
  bool stream = false;  // frozen matrices of blocks are read when they are needed
  std::string targets =
      "all";  // "all", names separated by commas ("tower.q_proj" in a tower), or a regular expression of whole module names
  std::vector<std::string> parts =
      {};  // "connector", "tower", "text": trained, others are not; empty: as `what` says
};
// Names separated by commas.
std::vector<std::string> trained_parts(const std::string& text);
// The description of the model for a run. InputError where the targets name nothing.
ModelSpec adapted(const Pretrained& model, const Tuning& tuning);

// The matrices an adapter can stand beside, "model.layers.0.self_attn.q_proj" and so on, those of a vision tower first.
std::vector<std::string> adaptable_modules(const Pretrained& model);
// Whether `targets` are names, as opposed to a regular expression.
bool are_names(const std::string& targets);
// Names separated by commas; for "all" the last parts of the names of all adaptable modules but those of a tower, for
// "tower.all" those.
std::vector<std::string> target_names(const Pretrained& model, const std::string& targets);

}  // namespace plimsoll
