#include "observe/steps.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "base/text.hpp"
#include "observe/step_formats.hpp"

namespace plimsoll::observe {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower[i]) return false;
  return true;
}

bool contains_ignoring_case(std::string_view text, std::string_view lower) {
  for (size_t i = 0; i + lower.size() <= text.size(); ++i)
    if (equal_ignoring_case(text.substr(i, lower.size()), lower)) return true;
  return false;
}

// "step 100", "Step: 100", "global_step=100", "'step': 100", "Iter   100/5000", "iteration #100", "[step 7]".
template <size_t size>
std::optional<StepCount> counted(std::string_view line, const std::array<const char*, size>& names) {
  for (size_t i = 0; i < line.size();) {
    if (!is_letter(line[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < line.size() && is_letter(line[end])) ++end;
    std::string_view word = line.substr(i, end - i);
    i = end;
    bool named = false;
    for (const char* name : names) named |= equal_ignoring_case(word, name);
    if (!named) continue;
    // Between the word and its number: blanks and a few signs, but no second word.
    size_t at = end;
    while (at < line.size() && at - end < 12 &&
           std::string_view(" \t:=#'\"[(").find(line[at]) != std::string_view::npos)
      ++at;
    if (at == end) continue;
    size_t used = 0;
    if (auto value = leading_integer(line.substr(at), &used)) {
      std::string_view rest = line.substr(at + used);
      const bool share = rest.starts_with("/") || rest.starts_with(" / ") || rest.starts_with(" of ");
      if (share)
        rest.remove_prefix(rest.find_first_of("0123456789") == std::string_view::npos
                               ? rest.size()
                               : rest.find_first_of("0123456789"));
      return StepCount{*value, share ? leading_integer(rest).value_or(0) : 0};
    }
  }
  return std::nullopt;
}

std::optional<StepCount> words_step(std::string_view line) {
  return counted(line, std::array{"iter", "iters", "iteration", "iterations", "step", "steps"});
}

// "Epoch 3/10", "epoch: 3"; of a run of one epoch nothing.
std::optional<double> words_epoch(std::string_view line) {
  const auto epoch = counted(line, std::array{"epoch"});
  return epoch && epoch->total != 1 ? std::optional(double(epoch->done)) : std::nullopt;
}

// The epoch of a dictionary, with its fraction.
std::optional<double> dictionary_epoch(std::string_view line) {
  const size_t at = line.find("epoch");
  const size_t begin = line.find_first_of("0123456789", at);
  if (at == std::string_view::npos || begin == std::string_view::npos || begin - at > 12) return std::nullopt;
  double value = 0;
  const auto end = std::from_chars(line.data() + begin, line.data() + line.size(), value);
  return end.ec == std::errc() && value >= 0 ? std::optional(value + 1) : std::nullopt;
}

// "Validating ...", "Evaluation": a line that announces a phase and tells no result.
std::string announced_phase(std::string_view line) {
  while (!line.empty() && !is_letter(line.front())) line.remove_prefix(1);
  if (line.size() > 60 || line.find_first_of("0123456789") != std::string_view::npos) return "";
  size_t end = 0;
  while (end < line.size() && is_letter(line[end])) ++end;
  for (const char* word : {"validating", "validation", "evaluating", "evaluation"})
    if (equal_ignoring_case(line.substr(0, end), word)) return "validate";
  return equal_ignoring_case(line.substr(0, end), "training") ? "train" : "";
}

// " 12%|#2        | 120/1000 [00:12<01:30, 9.78it/s]", with or without a description before it.
struct Bar {
  std::string_view description;
  int64_t done, total;
};
std::optional<Bar> tqdm_bar(std::string_view line) {
  size_t percent = line.find("%|");
  if (percent == std::string_view::npos || percent == 0 || !is_digit(line[percent - 1])) return std::nullopt;
  size_t close = line.find("| ", percent + 2);
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view counts = line.substr(close + 2);
  while (!counts.empty() && counts.front() == ' ') counts.remove_prefix(1);
  size_t used = 0;
  auto done = leading_integer(counts, &used);
  if (!done || used >= counts.size() || counts[used] != '/' ||
      counts.find('[', used) == std::string_view::npos)
    return std::nullopt;
  size_t begin = percent;
  while (begin > 0 && (is_digit(line[begin - 1]) || line[begin - 1] == ' ')) --begin;
  return Bar{line.substr(0, begin), *done, leading_integer(counts.substr(used + 1)).value_or(0)};
}

// {'loss': 2.1, 'grad_norm': 1.0, 'learning_rate': 5e-05, 'epoch': 0.02}: says that a step was logged, not
// which.
bool trainer_dictionary(std::string_view line, bool& evaluation) {
  size_t open = line.find('{');
  if (open == std::string_view::npos || line.find('}', open) == std::string_view::npos) return false;
  if (line.find("'epoch'", open) == std::string_view::npos &&
      line.find("\"epoch\"", open) == std::string_view::npos)
    return false;
  evaluation = line.find("eval_", open) != std::string_view::npos;
  return evaluation || line.find("'loss'", open) != std::string_view::npos ||
         line.find("\"loss\"", open) != std::string_view::npos;
}

std::string bar_phase(std::string_view description) {
  for (const char* word : {"valid", "eval", "test"})
    if (contains_ignoring_case(description, word)) return "validate";
  return "";
}

// "Epoch 3: …" is the bar of one epoch's steps, or one that goes over the epochs and names the present one.
bool counts_no_steps(const Bar& bar) {
  for (const char* word : {"download", "loading", "map", "token", "filter", "generating", "saving", "fetch"})
    if (contains_ignoring_case(bar.description, word)) return true;
  if (!contains_ignoring_case(bar.description, "epoch")) return false;
  const auto epoch = counted(bar.description, std::array{"epoch"});
  return !epoch || std::abs(bar.done - epoch->done) <= 1;
}

}  // namespace

std::optional<int64_t> leading_integer(std::string_view text, size_t* used) {
  int64_t value = 0;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    bool separator = (text[i] == ',' || text[i] == '_') && i > 0 && i + 3 < text.size() &&
                     is_digit(text[i - 1]) && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
                     is_digit(text[i + 3]) && (i + 4 >= text.size() || !is_digit(text[i + 4]));
    if (separator) continue;
    if (!is_digit(text[i])) break;
    if (value > INT64_MAX / 10 - 1) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  if (i == 0) return std::nullopt;
  bool fraction = i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1]);
  if (fraction || (i < text.size() && (is_letter(text[i]) || text[i] == '%'))) return std::nullopt;
  if (used) *used = i;
  return value;
}

Recognised recognise(std::string_view line, const StepPattern* pattern) {
  std::string plain;
  line = without_escapes(line.substr(0, longest_line), plain);
  Recognised found;
  auto step = [&](StepSource source, std::optional<int64_t> value, int64_t total = 0) {
    if (value) found.source = source, found.step = value, found.total = total;
  };
  found.epoch = words_epoch(line);
  if (pattern) step(StepSource::pattern, pattern->find(line));
  bool evaluation = false;
  if (line.find("***** Running") != std::string_view::npos) {
    found.phase = contains_ignoring_case(line, "training") ? "train" : "validate";
  } else if (auto bar = tqdm_bar(line)) {
    found.phase = bar_phase(bar->description);
    if (!pattern && found.phase.empty() && !counts_no_steps(*bar))
      step(StepSource::bar, bar->done, bar->total);
  } else if (auto words = pattern ? std::nullopt : words_step(line)) {
    step(StepSource::words, words->done, words->total);
  } else if (auto count = pattern ? std::nullopt : library_count(line)) {
    step(StepSource::bar, count->done, count->total);
  } else if (trainer_dictionary(line, evaluation)) {
    if (evaluation)
      found.phase = "train";  // printed when the evaluation has ended
    else if (!pattern)
      found.source = StepSource::dictionary;  // counted by StepCounter
    found.epoch = dictionary_epoch(line);
  } else {
    found.phase = announced_phase(line), found.announced = !found.phase.empty();
  }
  return found;
}

std::optional<Recognised> parse_datagram(std::string_view content) {
  content = content.substr(0, 1024);
  std::string_view word = text::next_word(content);
  if (word == "step") {
    // "step 120" or, of a program that knows how many it will do, "step 120/1000".
    std::string_view count = text::next_word(content);
    const size_t slash = count.find('/');
    auto value = text::number<int64_t>(count.substr(0, slash));
    auto total = slash == std::string_view::npos ? 0 : text::number<int64_t>(count.substr(slash + 1));
    if (!value || *value < 0 || !total || *total < 0 || !text::next_word(content).empty())
      return std::nullopt;
    return Recognised{.source = StepSource::socket, .step = value, .total = *total};
  }
  if (word == "epoch") {
    auto value = text::number<int64_t>(text::next_word(content));
    if (!value || *value < 0 || !text::next_word(content).empty()) return std::nullopt;
    Recognised event;
    event.epoch = double(*value);
    return event;
  }
  if (word != "phase") return std::nullopt;
  std::string_view name = text::next_line(content);
  while (!name.empty() && text::is_space(name.front())) name.remove_prefix(1);
  while (!name.empty() && text::is_space(name.back())) name.remove_suffix(1);
  if (name.empty() || name.size() > 64) return std::nullopt;
  return Recognised{.phase = std::string(name)};
}

void StepCounter::take(const Recognised& event) {
  if (event.source == StepSource::none || event.source < source_) return;
  if (event.source > source_) source_ = event.source, base_ = last_ = 0;
  if (event.source == StepSource::dictionary) {
    ++last_;
    return;
  }
  constexpr int64_t most = int64_t{1} << 50;  // no program counts so far, but a line may say anything
  if (!event.step || *event.step > most) return;
  // Counting from the start again is a new epoch; a few steps back is a line that came late.
  if (*event.step < last_ && *event.step <= last_ / 2)
    base_ = std::min(base_ + last_, most);
  else if (*event.step < last_)
    return;
  last_ = *event.step;
}

}  // namespace plimsoll::observe
