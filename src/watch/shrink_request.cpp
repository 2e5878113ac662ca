#include "watch/shrink_request.hpp"

#include "base/units.hpp"

namespace plimsoll::watch {

void ShrinkRequest::ask(double time, const guard::Decision& decision, size_t reached, bool dry_run) {
  open_ = log_.add(time, decision, dry_run ? "would ask to shrink" : "asked to shrink", 0);
  asked_ = time, used_then_ = decision.used;
  if (reached == 0) close(time, "no listener is left");
}

void ShrinkRequest::answered(double time, uint64_t given_back) {
  if (!open_) return;
  std::array<char, 160> text;
  write_to(text, "{} released after {}", format_bytes(given_back), format_duration(time - asked_));
  close(time, text.data());
}

void ShrinkRequest::advance(double time, const guard::Decision& decision) {
  if (!open_ || time - asked_ < patience_) return;
  std::array<char, 160> text;
  write_to(text, "no answer; use went from {} to {}", format_bytes(used_then_), format_bytes(decision.used));
  close(time, text.data());
}

void ShrinkRequest::close(double time, std::string_view effect) {
  log_.effect(open_, time, effect);
  open_ = nullptr;
}

}  // namespace plimsoll::watch
