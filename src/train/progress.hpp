// Shows the progress of a run: on a terminal a status view with the history of loss and memory if there is
// room, otherwise one plain line every few iterations. Uses fixed buffers and allocates nothing.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "live/terminal.hpp"

namespace plimsoll {

// What the loop knows after an iteration.
struct ProgressStep {
  int iteration = 0, iterations = 0;  // done so far, in all
  double loss = 0;
  double reference = 0;  // what to compare the loss with; not shown unless `reference_name` is
  std::string_view reference_name = {};  // "floor" or "val"
  double lr = 0;
  uint64_t tokens_per_iteration = 0;
  uint64_t resident_bytes = 0, plan_bytes = 0;
  double cross_entropy = std::numeric_limits<double>::quiet_NaN();  // where the loss is more than that
  std::string_view guard = {};  // the guard's level in a word; empty: none
};

struct ProgressOptions {
  enum class Style { automatic, plain, terminal };

  int file = 2;  // descriptor to write to
  Style style = Style::automatic;
  int log_every = 100;          // plain lines at its multiples and at the end; 0: none
  int columns = 0;              // 0: ask the terminal at every line
  bool colour = true;           // NO_COLOR in the environment switches it off too
  bool unicode = true;          // so does a locale other than UTF-8
  double (*clock)() = nullptr;  // seconds, never going back; null: the monotonic clock
};

// The course of a value from the beginning, in so many stretches: when all are used, neighbours are joined.
class Course {
 public:
  void add(double value);
  size_t size() const { return used_; }
  double low(size_t i) const { return low_[i]; }
  double mean(size_t i) const { return mean_[i]; }

 private:
  static constexpr size_t most = 48;
  std::array<double, most> low_, mean_;
  size_t used_ = 0, in_last_ = 0, per_stretch_ = 1;
};

class Progress {
 public:
  explicit Progress(const ProgressOptions& options = {});
  ~Progress();  // as finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After every iteration. Redraws a terminal at most ten times a second.
  void update(const ProgressStep& step);
  // Writes whole lines (a sample, a note) without tearing the live line: it moves below them.
  void note(std::string_view text);
  // Brings the live line up to date, leaves it standing and goes below it. Later updates begin a new one.
  void finish();

  bool live() const { return live_; }  // on a terminal
  // Over the last seconds of the clock, evaluations and saving included; 0 before there are two moments to
  // compare.
  double iterations_per_second() const;

 private:
  struct Moment {
    double time;
    int iteration;
  };
  static constexpr double window = 5.0, moments_apart = 0.25;

  void remember(const ProgressStep& step, double now);
  void follow_loss(double loss);
  void draw(const ProgressStep& step);
  void draw_below(const ProgressStep& step, std::string_view first_line);
  void print_plain(const ProgressStep& step);
  void write(std::string_view text) const;
  int columns() const;

  ProgressOptions options_;
  bool live_ = false, drawn_ = false;
  double last_draw_ = -1e9;
  ProgressStep last_{};
  std::array<Moment, 32> moments_{};  // a ring, oldest first from first_
  size_t first_ = 0, count_ = 0;
  Moment newest_{};
  double fast_ = 0, slow_ = 0;  // averages of the loss over about 20 and 200 iterations
  int seen_ = 0;
  Course losses_, memory_;
  live::BottomRows rows_;
  bool tall_ = false;  // a terminal with room for more than a line
};

}  // namespace plimsoll
