#include "train/generate.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/random.hpp"

namespace plimsoll {

Generator::Generator(Runtime& runtime, const Tokenizer& tokenizer, int longest_text)
    : runtime_(runtime),
      tokenizer_(tokenizer),
      context_(static_cast<size_t>(runtime.program().model->spec().context)),
      candidates_(static_cast<size_t>(runtime.program().model->spec().vocab)) {
  text_.reserve(static_cast<size_t>(longest_text) * tokenizer.longest_token() + 64);
}

void Generator::start() {
  filled_ = 0;
  next_row_ = 0;
  if (!shown_.empty())
    std::copy(shown_.begin(), shown_.end(), runtime_.executor().data(runtime_.program().token_features));
}

void Generator::show(std::span<const uint8_t> tiles) {
  const Program& program = runtime_.program();
  Executor& executor = runtime_.executor();
  const auto bytes = size_t(runtime_.graph()[program.look_pixels].type.bytes());
  const auto row = size_t(runtime_.graph()[program.look_features].type.elements());
  shown_.clear();
  for (; tiles.size() >= bytes; tiles = tiles.subspan(bytes)) {
    std::copy_n(tiles.begin(), bytes, executor.data<uint8_t>(program.look_pixels));
    executor.run(program.look, Moment{});
    const float* features = executor.data(program.look_features);
    shown_.insert(shown_.end(), features, features + row);
  }
  if (shown_.size() > size_t(runtime_.graph()[program.token_features].type.elements()))
    fail_input("the pictures need more tokens than the context of {}; give --context", context_.size());
}

bool Generator::feed(int32_t token, Interrupt interrupt) {
  if (filled_ == context_.size()) {  // full: begin again with its last half
    const size_t keep = std::max<size_t>(1, context_.size() / 2);
    std::copy(context_.end() - static_cast<long>(keep), context_.end(), context_.begin());
    filled_ = 0;
    for (size_t i = 0; i < keep && i + 1 < context_.size(); ++i)
      if (!feed(context_[i], interrupt)) return false;
  }
  if (interrupt()) return false;
  context_[filled_] = token;
  *runtime_.executor().tokens(runtime_.program().token) = token;
  if (const Program& program = runtime_.program(); program.token_row != no_value) {
    const bool placed = token == program.model->vision()->token &&
                        size_t(next_row_) * size_t(program.model->spec().dim) < shown_.size();
    *runtime_.executor().tokens(program.token_row) = placed ? next_row_++ : -1;
  }
  // What is left unfinished because weights could not be read gives no token.
  if (!runtime_.executor().run(runtime_.program().generate, Moment{.position = static_cast<int>(filled_)}))
    return false;
  ++filled_;
  return true;
}

int32_t draw_token(std::span<Candidate> c, const SamplingOptions& options, double uniform) {
  if (options.temperature <= 0) return std::max_element(c.begin(), c.end())->second;
  auto higher = [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  };
  auto last = c.end();
  if (options.top_k > 0 && size_t(options.top_k) < c.size()) last = c.begin() + options.top_k;
  if (last != c.end() || options.top_p < 1) std::partial_sort(c.begin(), last, c.end(), higher);
  float top = c.front().first;
  for (auto i = c.begin(); i != last; ++i) top = std::max(top, i->first);
  double sum = 0;
  for (auto i = c.begin(); i != last; ++i)
    sum += i->first = static_cast<float>(std::exp((i->first - top) / options.temperature));
  if (options.top_p < 1) {  // the likeliest tokens that together hold top_p
    double held = 0;
    for (auto i = c.begin(); i != last; ++i)
      if ((held += i->first) >= options.top_p * sum) {
        last = i + 1;
        sum = held;
        break;
      }
  }
  double left = uniform * sum;
  for (auto i = c.begin(); i != last; ++i)
    if ((left -= i->first) < 0) return i->second;
  return (last - 1)->second;
}

int32_t Generator::draw(const SamplingOptions& options, uint64_t counter) {
  const float* logits = runtime_.executor().data(runtime_.program().logits);
  const auto known =
      size_t(tokenizer_.vocabulary());  // a fixed vocabulary may be larger than what the data uses
  for (size_t i = 0; i < known; ++i) candidates_[i] = {logits[i], int32_t(i)};
  return draw_token(std::span(candidates_).first(known), options,
                    CounterRng(options.seed, Stream::sampling).uniform(counter));
}

std::optional<std::string_view> Generator::generate(const std::vector<int32_t>& prompt, int length,
                                                    const SamplingOptions& options, Interrupt interrupt) {
  text_.clear();
  for (int32_t token : prompt) tokenizer_.append(text_, token);
  const auto append = [&](int32_t token) {
    tokenizer_.append(text_, token);
    return true;
  };
  if (!stream(prompt, length, options, append, interrupt)) return std::nullopt;
  return text_;
}

}  // namespace plimsoll
