#include "watch/action_log.hpp"

#include <algorithm>

#include "platform/descriptors.hpp"

namespace plimsoll::watch {
namespace {

constexpr size_t most_actions = 512;

}  // namespace

ActionLog::ActionLog(const std::string& out) {
  actions_.reserve(most_actions);
  if (!out.empty()) record_ = std::make_unique<RunRecord>(RunRecord::create(out, {.kind = RunKind::guard}));
}

TreeAction* ActionLog::add(double time, const guard::Decision& decision, std::string_view what, int pid,
                           std::string_view name) {
  TreeAction* action = &overflow_;
  if (actions_.size() < most_actions)
    action = &actions_.emplace_back();
  else
    overflow_ = {}, ++left_out_;
  action->time = time, action->level = decision.level, action->pid = pid;
  action->used = decision.used, action->limit = decision.limit;
  write_to(action->what, "{}", what);
  write_to(action->reason, "{}", decision.reason());
  std::array<char, 400> line;
  if (pid)
    write_to(line, "{} of {} (pid {}): {}", what, name.empty() ? "process" : name, pid, decision.reason());
  else if (decision.level == guard::Level::warn)  // the level says it already
    write_to(line, "{}", decision.reason());
  else
    write_to(line, "{}: {}", what, decision.reason());
  say(time, guard::level_name(decision.level), line.data());
  return action;
}

void ActionLog::effect(TreeAction* action, double time, std::string_view text) {
  write_to(action->effect, "{}", text);
  say(time, guard::level_name(action->level), text);
}

void ActionLog::line(double time, std::string_view text) {
  if (!actions_.empty() && left_out_ == 0) write_to(actions_.back().line, "{}", text);
  std::array<char, 400> said;
  write_to(said, "the line that grew most: {}", text);
  say(time, "sites", said.data());
}

void ActionLog::say(double time, std::string_view kind, std::string_view text) {
  std::array<char, 512> line;
  auto end = fmt::format_to_n(line.data(), line.size(), "plimsoll: guard: {}: {}\n", kind, text);
  const size_t size = std::min(end.size, line.size());
  if (size == line.size()) line.back() = '\n';
  platform::write_all(platform::standard_error, {line.data(), size});
  if (record_) {
    auto words = fmt::format_to_n(line.data(), line.size(), "{}: {}", kind, text);
    record_->event("guard", {line.data(), std::min(words.size, line.size())}, time);
  }
}

}  // namespace plimsoll::watch
