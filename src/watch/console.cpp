#include "watch/console.hpp"

#include <algorithm>
#include <cstdio>

#include "watch/live_line.hpp"
#include "watch/view.hpp"

namespace plimsoll::watch {

void Console::say(const std::string& text) const {
  FILE* to = to_ == platform::standard_error ? stderr : stdout;
  if (mid_line_ && !live::is_terminal(to_) && mid_line_()) std::fputc('\n', to);
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

void Console::draw(const observe::Snapshot& snapshot, const TreeJudge& judge, const Reached& reached) {
  const platform::TtySize size = platform::tty_size(to_);
  const diagnose::Roles roles = diagnose::find_roles(judge.history());
  const WatchView view{snapshot, roles, judge.history(), judge.series(), judge.current(), reached};
  rows_.draw(watch_view(view, {.columns = size.columns - 1,
                               .rows = std::min(size.rows / 2, 20),
                               .unicode = live::speaks_unicode(),
                               .colour = live::wants_colour()}));
}

void Console::show(const observe::Snapshot& snapshot, const TreeJudge& judge, const Reached& reached) {
  if (quiet_ || snapshot.bytes == 0) return;
  if (live::is_terminal(to_)) {
    draw(snapshot, judge, reached);
  } else if (snapshot.time >= next_line_) {
    // Often at first, then once a minute: a log of a day stays readable.
    next_line_ = snapshot.time + (snapshot.time < 10 ? 5 : snapshot.time < 120 ? 20 : 60);
    say("plimsoll: " + live_line(snapshot, reached) + "\n");
  }
}

void Console::redraw(const observe::Snapshot& snapshot, const TreeJudge& judge, const Reached& reached) {
  if (!quiet_ && live::is_terminal(to_)) draw(snapshot, judge, reached);
}

}  // namespace plimsoll::watch
