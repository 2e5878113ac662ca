#include "train/progress_observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plimsoll {

ProgressObserver::ProgressObserver(const ProgressOptions& options, std::optional<double> floor,
                                   size_t sample_bytes)
    : progress_(options), floor_(floor) {
  line_.reserve(sample_bytes + 1024);
}

void ProgressObserver::step(const StepDone& s) {
  const bool validated = std::isfinite(s.validation);
  progress_.update({int(s.iteration), int(s.iterations), s.loss, floor_ ? *floor_ : s.validation,
                    floor_      ? std::string_view("floor")
                    : validated ? std::string_view("val")
                                : std::string_view(),
                    s.learning_rate, s.tokens, s.resident, s.plan_bytes, s.cross_entropy, s.guard});
}

void ProgressObserver::evaluated(const Evaluated& e) {
  char text[256];
  const double loss = e.loss.loss;
  auto end =
      floor_ ? fmt::format_to_n(text, sizeof text,
                                "Eval {:>6} | Validation loss: {:.4f} | Entropy floor: {:.4f} (+{:.1f} %)",
                                e.iteration, loss, *floor_, 100 * (loss / *floor_ - 1))
             : fmt::format_to_n(text, sizeof text, "Eval {:>6} | Validation loss: {:.4f}", e.iteration, loss);
  if (e.loss.two_groups())
    end.size +=
        fmt::format_to_n(text + end.size, sizeof text - end.size, " | High provenance: {:.4f} | Low: {:.4f}",
                         e.loss.high.loss, e.loss.low.loss)
            .size;
  note({text, std::min(end.size, sizeof text)});
}

void ProgressObserver::sampled(uint64_t iteration, std::string_view text) {
  char number[32];
  line_.assign("Sample at ");
  line_.append(number, fmt::format_to_n(number, sizeof number, "{}: ", iteration).size);
  // A bytes model may write anything: what moves the cursor or worse is not for a terminal.
  for (const char c : text) {
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    line_ += progress_.live() && control ? '?' : c;
  }
  note(line_);
}

}  // namespace plimsoll
