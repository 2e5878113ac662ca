#include "train/picture_samples.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "data/model_text.hpp"
#include "image/write_png.hpp"

namespace plimsoll {
namespace {

constexpr int64_t thumbnail_edge = 64;

// The whole picture is the last of its tiles.
std::string thumbnail_of(std::span<const uint8_t> tiles, int64_t tile) {
  const PixelSize from{tile, tile}, to{std::min(tile, thumbnail_edge), std::min(tile, thumbnail_edge)};
  std::vector<uint8_t> small(size_t(to.rgb_bytes())), memory(size_t(resize_memory(from, to)));
  resize(tiles.data() + (tiles.size() - size_t(from.rgb_bytes())), from, small.data(), to, memory);
  return png_of(small, to);
}

std::string trimmed(std::string text, std::string_view before, std::string_view after) {
  if (text.ends_with(after)) text.resize(text.size() - after.size());
  if (text.starts_with(before)) text.erase(0, before.size());
  text.erase(0, text.find_first_not_of(" \n"));
  text.resize(text.find_last_not_of(" \n") + 1);
  return text;
}

}  // namespace

PictureSamples::PictureSamples(Runtime& runtime, const Corpus& corpus, PictureFeed& pictures, int count,
                               int length)
    : tokenizer_(corpus.tokenizer()), pictures_(pictures), length_(length) {
  if (!pictures.active() || count == 0) return;
  generator_.emplace(runtime, tokenizer_, 1);
  const ModelText& text = *tokenizer_.model();
  for (int32_t token = 0; token < tokenizer_.vocabulary(); ++token)
    if (text.ends_answer(token)) ends_.push_back(token);
  const Model& model = *runtime.program().model;
  const PackedCorpus& packed = *corpus.packed();
  // Spread over the windows, as neighbours hold samples of one length.
  const uint64_t windows = packed.windows(Split::validation),
                 stretches = std::min<uint64_t>(windows, uint64_t(count));
  for (uint64_t i = 0; i < stretches; ++i)
    for (uint64_t w = i * windows / stretches; w < (i + 1) * windows / stretches; ++w)
      if (add(packed, w, model.spec().context, *model.vision())) break;
  size_t longest = 0;
  for (const Sample& sample : samples_)
    longest = std::max(longest, sample.name.size() + sample.question.size());
  said_.reserve(size_t(length) * tokenizer_.longest_token());
  line_.reserve(said_.capacity() + longest + 16);
}

// The first sample of a window, where it shows one picture and answers.
bool PictureSamples::add(const PackedCorpus& corpus, uint64_t window, int64_t context,
                         const Model::Vision& vision) {
  const auto T = size_t(context);
  std::vector<int32_t> tokens(T + 1), targets(T), positions(T);
  corpus.fill(Split::validation, window, false, {tokens, targets, positions});
  const size_t end = size_t(std::find(positions.begin() + 1, positions.end(), 0) - positions.begin());
  const size_t first = size_t(
      std::find_if(targets.begin(), targets.begin() + ptrdiff_t(end), [](int32_t t) { return t >= 0; }) -
      targets.begin());
  uint32_t picture = 0;
  const int64_t rows = std::count(tokens.begin(), tokens.begin() + ptrdiff_t(end), vision.token);
  if (first == end || rows == 0 || corpus.pictures(Split::validation, window, {&picture, 1}) == 0)
    return false;
  const Pictures& all = *corpus.pictures();
  if (int64_t(all.place(picture).tiles) * vision.rows != rows) return false;
  Sample sample;
  sample.name = std::filesystem::path(all.name(picture)).filename().string();
  sample.picture = picture;
  const tokens::Tokenizer& words = tokenizer_.model()->tokenizer;
  for (size_t t = 0; t <= first; ++t) {
    sample.prompt.push_back(tokens[t]);
    if (!words.is_special(tokens[t])) tokenizer_.append(sample.question, tokens[t]);
  }
  for (size_t t = first; t < end && targets[t] >= 0; ++t)
    if (!words.is_special(targets[t])) tokenizer_.append(sample.answer, targets[t]);
  sample.question = trimmed(std::move(sample.question), "User:", "Assistant:");
  sample.answer = trimmed(std::move(sample.answer), "", "");
  try {
    pictures_.with_tiles(picture, [&](std::span<const uint8_t> tiles) {
      sample.thumbnail = thumbnail_of(tiles, vision.tile);
      generator_->show(tiles);
    });
  } catch (const Error&) {
    return false;  // the step that needs it says what is wrong
  }
  samples_.push_back(std::move(sample));
  return true;
}

std::optional<std::string_view> PictureSamples::ask(size_t i, Interrupt interrupt) {
  const Sample& sample = samples_[i];
  pictures_.with_tiles(sample.picture, [&](std::span<const uint8_t> tiles) { generator_->show(tiles); });
  said_.clear();
  bool ended = false;
  const auto each = [&](int32_t token) {
    ended = std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    if (!ended) tokenizer_.append(said_, token);
    return !ended;
  };
  if (!generator_->stream(sample.prompt, length_, {.temperature = 0}, each, interrupt) && !ended)
    return std::nullopt;
  return std::string_view(said_).substr(std::min(said_.size(), said_.find_first_not_of(' ')));
}

std::string_view PictureSamples::line(size_t i, std::string_view said) {
  line_.assign("[")
      .append(samples_[i].name)
      .append("] ")
      .append(samples_[i].question)
      .append(" ")
      .append(said);
  return line_;
}

}  // namespace plimsoll
