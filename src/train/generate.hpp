// Generates text one token at a time through the cached list. All memory is allocated in the constructor.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

struct SamplingOptions {
  double temperature = 1;  // 0: always the likeliest token
  int top_k = 0;           // 0: all
  double top_p = 1;
  uint64_t seed = 1;
};

// A logit and its token.
using Candidate = std::pair<float, int32_t>;
// The token that `uniform`, in [0, 1), draws from the distribution of the logits; equal ones count by their token. Changes the
// candidates.
int32_t draw_token(std::span<Candidate> candidates, const SamplingOptions& options, double uniform);

class Generator {
 public:
  Generator(Runtime& runtime, const Tokenizer& tokenizer, int longest_text);

  // From here on the features of these tiles, tile x tile RGB pixels each, stand in the place of the tokens of a prompt that mean
  // them. Allocates.
  void show(std::span<const uint8_t> tiles);

  // The prompt and `length` tokens more. The text stays valid until the next call. When the context is full, the
  // model goes on from the last half of it. Nothing where `interrupt`, asked at every token, wants to leave.
  std::optional<std::string_view> generate(const std::vector<int32_t>& prompt, int length,
                                           const SamplingOptions& options, Interrupt interrupt = {});
  // As generate, but hands over each new token as it comes; false where it stopped early because `each` returned false
  // or `interrupt` true.
  template <typename Each>
  bool stream(const std::vector<int32_t>& prompt, int length, const SamplingOptions& options, Each&& each,
              Interrupt interrupt = {}) {
    start();
    for (int32_t token : prompt)
      if (!feed(token, interrupt)) return false;
    for (int i = 0; i < length; ++i) {
      const int32_t token = draw(options, static_cast<uint64_t>(i));
      if (!each(token)) return false;
      if (i + 1 < length && !feed(token, interrupt)) return false;
    }
    return true;
  }

 private:
  void start();
  bool feed(int32_t token, Interrupt interrupt);
  int32_t draw(const SamplingOptions& options, uint64_t counter);

  Runtime& runtime_;
  const Tokenizer& tokenizer_;
  std::vector<int32_t> context_;  // tokens in the cache
  size_t filled_ = 0;
  std::vector<float> shown_;  // features of the tiles
  int32_t next_row_ = 0;      // of those
  std::vector<Candidate> candidates_;
  std::string text_;
};

}  // namespace plimsoll
