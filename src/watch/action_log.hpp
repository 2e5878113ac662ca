// Reports each action of the guard: as a message, as an event in the run file, and as an entry in the final
// JSON. Nothing here allocates while monitoring.
#pragma once
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/guard.hpp"
#include "record/run_record.hpp"

namespace plimsoll::watch {

struct TreeAction {
  double time = 0;
  guard::Level level = guard::Level::ok;
  std::array<char, 32> what{};  // "SIGSTOP", "ask", "would SIGTERM"
  int pid = 0;                  // of whom; 0: the whole tree
  uint64_t used = 0, limit = 0;
  std::array<char, 200> reason{};
  std::array<char, 160> effect{};  // what came of it; empty as long as that is open
  std::array<char, 240> line{};    // of source, that grew; empty where that is not known
};

class ActionLog {
 public:
  explicit ActionLog(const std::string& out);  // run file; empty: none

  // Never null: what does not fit any more is said and recorded, not kept.
  // `name` is that of process `pid`, already escaped.
  TreeAction* add(double time, const guard::Decision& decision, std::string_view what, int pid,
                  std::string_view name = {});
  void effect(TreeAction* action, double time, std::string_view text);
  // The line of source that grew, for the newest action.
  void line(double time, std::string_view text);
  // One line on standard error, and in the record.
  void say(double time, std::string_view kind, std::string_view text);

  RunRecord* record() { return record_.get(); }
  const std::vector<TreeAction>& actions() const { return actions_; }
  uint64_t left_out() const { return left_out_; }

 private:
  std::vector<TreeAction> actions_;
  TreeAction overflow_;
  uint64_t left_out_ = 0;
  std::unique_ptr<RunRecord> record_;
};

// fmt into a fixed array, always ended by a zero.
template <size_t Size, typename... Args>
void write_to(std::array<char, Size>& text, fmt::format_string<Args...> format, Args&&... args) {
  *fmt::format_to_n(text.data(), Size - 1, format, std::forward<Args>(args)...).out = '\0';
}

}  // namespace plimsoll::watch
