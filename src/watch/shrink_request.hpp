// A request to release memory, from asking until it is answered or times out. What the program reports and
// what use did meanwhile are two figures: a step that ends at the same moment looks like a release.
#pragma once
#include <optional>

#include "watch/action_log.hpp"

namespace plimsoll::watch {

class ShrinkRequest {
 public:
  ShrinkRequest(ActionLog& log, double patience) : log_(log), patience_(patience) {}

  // `reached` programs have been asked.
  void ask(double time, const guard::Decision& decision, size_t reached, bool dry_run);
  void answered(double time, uint64_t given_back);
  // At every reading: closes what is answered with the use measured since, and says so when nobody has
  // answered in time.
  void advance(double time, const guard::Decision& decision);

 private:
  void close(double time, std::string_view effect);

  ActionLog& log_;
  struct Answer {
    double time;
    uint64_t given_back;
  };
  double patience_;             // seconds
  TreeAction* open_ = nullptr;  // null: nothing is asked, or it is answered
  double asked_ = 0;
  uint64_t used_then_ = 0;
  std::optional<Answer> answer_;
};

}  // namespace plimsoll::watch
