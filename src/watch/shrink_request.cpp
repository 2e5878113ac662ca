#include "watch/shrink_request.hpp"

#include "base/units.hpp"

namespace plimsoll::watch {

void ShrinkRequest::ask(double time, const guard::Decision& decision, size_t reached, bool dry_run) {
  open_ = log_.add(time, decision, dry_run ? "would ask to shrink" : "asked to shrink", 0);
  asked_ = time, used_then_ = decision.used, answer_.reset();
  if (reached == 0) close(time, "no listener is left");
}

void ShrinkRequest::answered(double time, uint64_t given_back) {
  if (open_ && !answer_) answer_ = {time, given_back};
}

void ShrinkRequest::advance(double time, const guard::Decision& decision) {
  if (!open_ || (!answer_ && time - asked_ < patience_)) return;
  const std::string before = format_bytes(used_then_), now = format_bytes(decision.used);
  std::array<char, 160> text;
  if (answer_)
    write_to(text, "the program reports {} released after {}; use went from {} to {}",
             format_bytes(answer_->given_back), format_duration(answer_->time - asked_), before, now);
  else
    write_to(text, "no answer; use went from {} to {}", before, now);
  close(time, text.data());
}

void ShrinkRequest::close(double time, std::string_view effect) {
  log_.effect(open_, time, effect);
  open_ = nullptr;
}

}  // namespace plimsoll::watch
