#include "observe/step_formats.hpp"

#include "observe/steps.hpp"

namespace plimsoll::observe {
namespace {

// Reads a line from left to right.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  Scan& blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return *this;
  }
  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::optional<int64_t> number() {
    size_t used = 0;
    const auto value = leading_integer(rest_, &used);
    if (value) rest_.remove_prefix(used);
    return value;
  }
  // "12/19"
  std::optional<StepCount> count() {
    const auto done = blanks().number();
    if (!done || !skip("/")) return std::nullopt;
    const auto total = number();
    return total ? std::optional(StepCount{*done, *total}) : std::nullopt;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

constexpr std::string_view heavy_line = "\u2501", right_half = "\u2578", left_half = "\u257a";

// "12/19 ━━━━━━━ 2s 3ms/step - loss: 0.7" and "12/19 [====>....] - ETA: 3s" (Keras), "Epoch 1/9 ━━━━━━━ 12/19 0:00:01" (Lightning).
std::optional<StepCount> drawn_bar(std::string_view line) {
  Scan scan(line);
  const auto before = scan.count();
  if (before && scan.skip(" [") && scan.rest().find_first_of("=>.") == 0) return before;
  const size_t last = line.rfind(heavy_line);
  if (last == line.npos) return std::nullopt;
  if (before && scan.blanks().rest().starts_with(heavy_line)) return before;
  Scan after(line.substr(last + heavy_line.size()));
  while (after.skip(right_half) || after.skip(left_half)) {
  }
  return after.count();
}

// "Epoch: [0][  10/5005]", "Epoch: [0]  [  10/1000]", "Epoch(train)  [1][  50/1000]"; "Train: 0 [  50/1251 (  4%)]".
std::optional<StepCount> bracketed(std::string_view line) {
  const size_t word = line.find("Epoch");
  Scan scan(word == line.npos ? line : line.substr(word + 5));
  if (word != line.npos) {
    scan.skip("(train)");
    scan.skip(":");
    if (!scan.blanks().skip("[") || !scan.number() || !scan.skip("]")) return std::nullopt;
  } else if (!scan.skip("Train: ") || !scan.number()) {
    return std::nullopt;
  }
  return scan.blanks().skip("[") ? scan.count() : std::nullopt;
}

// "[12]\ttrain-rmse:0.5" (XGBoost, LightGBM), "12:\tlearn: 0.5" (CatBoost).
std::optional<StepCount> boosting_round(std::string_view line) {
  Scan scan(line);
  const bool bracket = scan.skip("[");
  const auto round = scan.number();
  if (!round || !scan.skip(bracket ? "]\t" : ":\tlearn: ")) return std::nullopt;
  return StepCount{*round, 0};
}

}  // namespace

std::optional<StepCount> library_count(std::string_view line) {
  if (const auto bar = drawn_bar(line)) return bar;
  if (const auto brackets = bracketed(line)) return brackets;
  return boosting_round(line);
}

std::string_view without_escapes(std::string_view line, std::string& place) {
  constexpr char escape = '\x1b';
  if (line.find(escape) == line.npos) return line;
  place.clear();
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != escape) {
      place += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '[') {  // parameters up to a letter
      for (i += 2; i < line.size() && !(line[i] >= '@' && line[i] <= '~');) ++i;
    }
  }
  return place;
}

}  // namespace plimsoll::observe
