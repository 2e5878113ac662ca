// What a run must remember besides its tensors: settings, tokenizer, data, and a few counters. As text it is
// `state.json` of a checkpoint and `run.json` of a run folder.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "data/tokenizer.hpp"
#include "train/settings.hpp"

namespace plimsoll {

struct RunState {
  Settings settings;
  Tokenizer tokenizer = Tokenizer::bytes();
  int vocab = 0;              // of the model; at least the tokenizer's
  std::string fingerprint;    // of the data
  std::string base_checksum;  // of the published model's weights, which are not saved; empty: there is none
  std::string
      base_config;  // how that model computes, as computation_of() says; empty in states of earlier versions
  uint64_t step = 0;  // done: the cursor of data, dropout and schedule alike
  double best_loss = std::numeric_limits<double>::infinity();
  uint64_t best_step = 0;
};

// InputError where the text is not such a state.
RunState parse_state(std::string_view text);

// Writes states of one run again and again without allocating: only the moving numbers are formatted.
class StateText {
 public:
  explicit StateText(const RunState& constant);
  std::string_view write(uint64_t step, double best_loss, uint64_t best_step);
  size_t capacity() const { return text_.size(); }

 private:
  std::string text_;
  size_t constant_ = 0;
};

}  // namespace plimsoll
