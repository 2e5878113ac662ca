#include "train/guard_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/units.hpp"

namespace plimsoll {
namespace {

constexpr size_t most_listed = 256;

using Kind = GuardAction::Kind;

}  // namespace

const char* action_name(Kind kind) {
  constexpr const char* names[] = {"warn", "shrink", "grow", "pause", "resume", "stop", "eased"};
  return names[size_t(kind)];
}

void GuardAction::because(std::string_view text) {
  const size_t length = std::min(text.size(), reason.size() - 1);
  std::copy_n(text.data(), length, reason.data());
  reason[length] = '\0';
}

bool GuardAction::as_planned() const {
  // More may be given back: cached data, trimmed heap. The kernel counts resident pages by the processor and adds up later; a huge page given back in part may be made whole.
  const int64_t allowed = std::max<int64_t>(3'000'000, std::abs(planned) / 20);
  return int64_t(rss_after) - int64_t(rss_before) <= planned + allowed;
}

GuardLog::GuardLog(Observer& tell) : tell_(tell) { actions_.reserve(most_listed); }

void GuardLog::add(const GuardAction& action) {
  char text[512];
  size_t size = 0;
  auto write = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    const auto end = fmt::format_to_n(text + size, sizeof text - size, format, std::forward<Args>(args)...);
    size = std::min(sizeof text, size + end.size);
  };
  write("{} at {} | {}", action_name(action.kind), action.iteration, action.reason.data());
  if (action.kind == Kind::resume) write(" | after {:.1f} s", action.seconds);
  // Short strings stay within their own objects: nothing is allocated.
  if (action.kind == Kind::shrink || action.kind == Kind::grow)
    write(" | micro-batch {}, plan {}", action.micro_batch, format_bytes(action.plan_bytes));
  if (action.planned) {
    write("; resident {} to {}, planned {}{}{}", format_bytes(action.rss_before),
          format_bytes(action.rss_after), action.planned < 0 ? '-' : '+',
          format_bytes(uint64_t(std::abs(action.planned))), action.as_planned() ? "" : ": NOT as planned");
  }
  tell_.event("guard", {text, size});
  char line[sizeof text + 8];
  const auto end = fmt::format_to_n(line, sizeof line, "Guard: {}", std::string_view(text, size));
  tell_.note({line, std::min(sizeof line, end.size)});
  actions_.size() < most_listed ? actions_.push_back(action) : void(++unlisted_);
}

}  // namespace plimsoll
