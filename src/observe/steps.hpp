// Recognizes step numbers and phases in the output of a program: `Iter 100/5000`, `step 100`, tqdm bars, the
// dictionaries of the Hugging Face Trainer, the formats of other libraries, or a user-defined regular expression. Pure: bytes
// in, events out.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::observe {

enum class StepSource {
  none,
  dictionary,
  bar,
  words,
  pattern,
  socket
};  // a later one is believed over an earlier one

struct Recognised {
  StepSource source = StepSource::none;
  std::optional<int64_t> step = {};
  std::string phase = {};  // empty: none said
  bool announced = false;  // the phase is a plain line's, whose end nobody tells: the next step ends it
  int64_t total = 0;       // steps the program means to do, where it says so
  // Epochs begun (from 1), or done with a fraction, as the program counts them; a run of one epoch says nothing.
  std::optional<double> epoch = {};
};

// A whole number at the front of `text`, thousands separators allowed; not the start of 1.5 or 1e3. `used`:
// its length.
std::optional<int64_t> leading_integer(std::string_view text, size_t* used = nullptr);

// One line, without its end, of at most `longest_line` bytes; more is not looked at.
inline constexpr size_t longest_line = 4096;

class StepPattern {
 public:
  // The first group (or the whole match) is the step. InputError for what is not a regular expression.
  explicit StepPattern(const std::string& expression);
  ~StepPattern();
  std::optional<int64_t> find(std::string_view line) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// `pattern` may be null; where it is given, only it is asked for steps.
Recognised recognise(std::string_view line, const StepPattern* pattern);
// A datagram: "step 120", "phase validate", "epoch 2". nullopt for anything else.
std::optional<Recognised> parse_datagram(std::string_view text);

// Cuts a stream into lines at \n and \r (bars redraw themselves), keeping at most `longest_line` bytes of
// one.
class LineCutter {
 public:
  // Calls line(std::string_view) for each line completed by `bytes`.
  template <typename Line>
  void feed(std::string_view bytes, Line&& line) {
    while (!bytes.empty()) {
      size_t end = bytes.find_first_of("\r\n");
      std::string_view part = bytes.substr(0, end);
      partial_.append(part.substr(0, longest_line - partial_.size()));
      if (end == std::string_view::npos) return;
      if (!partial_.empty()) line(std::string_view(partial_));
      partial_.clear();
      bytes.remove_prefix(end + 1);
    }
  }

 private:
  std::string partial_;
};

// One count out of many sources: the most trusted source wins, and a count that starts over (a new epoch)
// goes on.
class StepCounter {
 public:
  void take(const Recognised& event);
  std::optional<int64_t> step() const {
    return source_ == StepSource::none ? std::nullopt : std::optional(base_ + last_);
  }
  StepSource source() const { return source_; }

 private:
  StepSource source_ = StepSource::none;
  int64_t base_ = 0, last_ = 0;
};

}  // namespace plimsoll::observe
