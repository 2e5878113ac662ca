#include "train/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/units.hpp"
#include "platform/descriptors.hpp"

namespace plimsoll {
namespace {

constexpr double redraw_after = 0.1;
constexpr const char* green = "\x1b[32m";
constexpr const char* red = "\x1b[31m";
constexpr const char* normal = "\x1b[0m";

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool draws_in_place(const ProgressOptions& options) {
  if (options.style != ProgressOptions::Style::automatic)
    return options.style == ProgressOptions::Style::terminal;
  return live::is_terminal(options.file);
}

// Text in a buffer of its own; what does not fit is cut off.
template <size_t capacity>
struct FixedText {
  char data[capacity];
  size_t size = 0;

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    auto result = fmt::format_to_n(data + size, capacity - size, format, std::forward<Args>(args)...);
    size = std::min(size + result.size, capacity);
  }
  std::string_view text() const { return {data, size}; }
};

// One part of the live line.
struct Part {
  FixedText<64> text;
  int importance = 0;  // the least important goes first when the line is too wide
  const char* colour = nullptr;
  bool shown = true;

  int width() const {  // columns: UTF-8 continuation bytes take none
    return static_cast<int>(
        std::count_if(text.data, text.data + text.size, [](char c) { return (c & 0xc0) != 0x80; }));
  }
};

constexpr int gap = 2;

int line_width(const std::array<Part, 8>& parts) {
  int width = 0;
  for (const Part& part : parts)
    if (part.shown && part.text.size) width += part.width() + (width ? gap : 0);
  return width;
}

// Hides parts until the line fits; the first one, the iteration, always stays.
void fit(std::array<Part, 8>& parts, int columns) {
  while (line_width(parts) > columns) {
    Part* least = nullptr;
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i].shown && (!least || parts[i].importance < least->importance)) least = &parts[i];
    if (!least) break;
    least->shown = false;
  }
}

}  // namespace

void Course::add(double value) {
  if (!std::isfinite(value)) return;
  if (used_ == most && in_last_ == per_stretch_) {
    for (size_t i = 0; i < most / 2; ++i) {
      low_[i] = std::min(low_[2 * i], low_[2 * i + 1]);
      mean_[i] = (mean_[2 * i] + mean_[2 * i + 1]) / 2;
    }
    used_ = most / 2;
    per_stretch_ *= 2;
    in_last_ = per_stretch_;
  }
  if (used_ == 0 || in_last_ == per_stretch_) {
    low_[used_] = mean_[used_] = value;
    ++used_;
    in_last_ = 1;
    return;
  }
  low_[used_ - 1] = std::min(low_[used_ - 1], value);
  mean_[used_ - 1] += (value - mean_[used_ - 1]) / double(++in_last_);
}

Progress::Progress(const ProgressOptions& options)
    : options_(options), live_(draws_in_place(options)), rows_(options.file) {
  if (!options_.clock) options_.clock = monotonic_seconds;
  if (!live::wants_colour()) options_.colour = false;
  if (!live::speaks_unicode()) options_.unicode = false;
  tall_ = live_ && options_.columns == 0 && platform::tty_size(options_.file).rows > 0;
}

Progress::~Progress() { finish(); }

void Progress::update(const ProgressStep& step) {
  double now = options_.clock();
  remember(step, now);
  follow_loss(step.loss);
  losses_.add(step.loss);
  memory_.add(double(step.resident_bytes));
  bool last = step.iteration == step.iterations;
  if (live_) {
    last_ = step;
    if (now - last_draw_ < redraw_after && !last) return;
    last_draw_ = now;
    draw(step);
  } else if (options_.log_every > 0 && (step.iteration % options_.log_every == 0 || last)) {
    print_plain(step);
  }
}

void Progress::remember(const ProgressStep& step, double now) {
  newest_ = {now, step.iteration};
  while (count_ > 1 && moments_[(first_ + 1) % moments_.size()].time <= now - window) {
    first_ = (first_ + 1) % moments_.size();
    --count_;
  }
  if (count_ && now - moments_[(first_ + count_ - 1) % moments_.size()].time < moments_apart) return;
  if (count_ == moments_.size()) first_ = (first_ + 1) % moments_.size(), --count_;
  moments_[(first_ + count_++) % moments_.size()] = newest_;
}

double Progress::iterations_per_second() const {
  if (!count_) return 0;
  const Moment& oldest = moments_[first_];
  return newest_.time > oldest.time ? (newest_.iteration - oldest.iteration) / (newest_.time - oldest.time)
                                    : 0;
}

void Progress::follow_loss(double loss) {
  if (!std::isfinite(loss)) return;
  ++seen_;
  // Plain means at first, so that the averages do not lean on where they began.
  fast_ += (loss - fast_) / std::min(seen_, 20);
  slow_ += (loss - slow_) / std::min(seen_, 200);
}

void Progress::print_plain(const ProgressStep& step) {
  FixedText<256> line;
  line.add("Iter {:5}/{} | Loss: {:.4f}", step.iteration, step.iterations, step.loss);
  if (std::isfinite(step.cross_entropy))
    line.add(" | Cross-entropy: {:.4f} | Distrust: {:+.4f}", step.cross_entropy,
             step.loss - step.cross_entropy);
  line.add(" | LR: {:.2e} | Speed: {:.1f} it/s | Mem: {}\n", step.lr, iterations_per_second(),
           format_bytes(step.resident_bytes));
  write(line.text());
}

void Progress::draw(const ProgressStep& step) {
  double speed = iterations_per_second();
  bool falling = fast_<slow_ * 0.998, rising = fast_> slow_ * 1.002;
  const char* trend = options_.unicode ? (falling  ? "↓"
                                          : rising ? "↑"
                                                   : "→")
                                       : (falling  ? "v"
                                          : rising ? "^"
                                                   : "=");

  std::array<Part, 8> parts;
  parts[0].text.add("{}/{}", step.iteration, step.iterations);
  parts[1].text.add("loss {:.4f} {}", step.loss, trend);
  if (std::isfinite(step.cross_entropy))
    parts[1].text.add(" (ce {:.4f} {:+.4f})", step.cross_entropy, step.loss - step.cross_entropy);
  parts[1].importance = 7;
  parts[1].colour = falling ? green : rising ? red : nullptr;
  if (!step.reference_name.empty()) parts[2].text.add("{} {:.4f}", step.reference_name, step.reference);
  parts[2].importance = 3;
  parts[3].text.add("lr {:.2e}", step.lr);
  parts[3].importance = 1;
  parts[4].text.add("{:.1f} it/s", speed);
  parts[4].importance = 5;
  parts[5].text.add("{:.0f} tok/s", speed * double(step.tokens_per_iteration));
  parts[5].importance = 2;
  if (speed > 0) parts[6].text.add("{} left", format_duration((step.iterations - step.iteration) / speed));
  parts[6].importance = 6;
  parts[7].text.add("{}", format_bytes(step.resident_bytes));
  if (step.plan_bytes) parts[7].text.add(" / {} planned", format_bytes(step.plan_bytes));
  parts[7].importance = 4;

  // The last column stays empty: some terminals wrap as soon as it is filled.
  int room = std::max(columns() - 1, 1);
  fit(parts, room);
  FixedText<1024> line;
  if (!tall_) line.add("\r");
  bool first = true;
  for (const Part& part : parts) {
    if (!part.shown || !part.text.size) continue;
    bool coloured = options_.colour && part.colour;
    // Only the iteration can still be too wide, and it is plain ASCII.
    std::string_view text = first ? part.text.text().substr(0, static_cast<size_t>(room)) : part.text.text();
    line.add("{}{}{}{}", first ? "" : "  ", coloured ? part.colour : "", text, coloured ? normal : "");
    first = false;
  }
  drawn_ = true;
  if (tall_) return draw_below(step, line.text());
  line.add("\x1b[K");
  write(line.text());
}

// How loss and memory went, below the line; the memory's floor is what a leak would raise.
void Progress::draw_below(const ProgressStep& step, std::string_view first_line) {
  FixedText<2048> text;
  text.add("{}\n", first_line);
  const auto course = [&](const Course& of, auto value) {
    const size_t shown = std::min(of.size(), size_t(columns() < 70 ? 10 : 24));
    double low = 0, high = 0;
    const auto at = [&](size_t i) { return value(of, i * of.size() / shown); };
    for (size_t i = 0; i < shown; ++i) {
      low = i ? std::min(low, at(i)) : at(i);
      high = i ? std::max(high, at(i)) : at(i);
    }
    const double range = std::max(high - low, 0.01 * std::fabs(high));
    for (size_t i = 0; i < shown; ++i)
      text.add("{}", live::spark(range > 0 ? int(7.99 * (at(i) - low) / range) : 0, options_.unicode));
  };
  text.add("loss ");
  course(losses_, [](const Course& of, size_t i) { return of.mean(i); });
  text.add("  memory ");
  course(memory_, [](const Course& of, size_t i) { return of.low(i); });
  const size_t half = memory_.size() / 2;
  double before = INFINITY, after = INFINITY;
  for (size_t i = 0; i < memory_.size(); ++i) {
    double& low = i < half ? before : after;
    low = std::min(low, memory_.low(i));
  }
  if (half > 1 && after > 1.01 * before)
    text.add(" floor +{}", format_bytes(uint64_t(after - before)));
  else
    text.add(" floor flat");
  if (!step.guard.empty()) text.add("  guard: {}", step.guard);
  text.add("\n");
  rows_.draw(text.text());
}

void Progress::note(std::string_view text) {
  if (drawn_ && !tall_) write("\r\x1b[K");
  write(text);
  if (!text.empty() && text.back() != '\n') write("\n");
  if (drawn_ && !tall_) draw(last_);
}

void Progress::finish() {
  if (!drawn_) return;
  const bool tall = tall_;
  rows_.close();
  tall_ = false;
  draw(last_);  // the last redraw may have been a moment ago
  tall_ = tall;
  write("\n");
  drawn_ = false;
}

int Progress::columns() const {
  if (options_.columns > 0) return options_.columns;
  const int columns = platform::tty_size(options_.file).columns;
  return columns > 0 ? columns : 80;
}

// Progress is a courtesy: a closed or full pipe must not stop a run.
void Progress::write(std::string_view text) const { platform::write_all(options_.file, text); }

}  // namespace plimsoll
