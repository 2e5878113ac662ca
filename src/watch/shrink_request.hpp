// A request to release memory, from asking until it is answered or times out.
#pragma once
#include "watch/action_log.hpp"

namespace plimsoll::watch {

class ShrinkRequest {
 public:
  ShrinkRequest(ActionLog& log, double patience) : log_(log), patience_(patience) {}

  // `reached` programs have been asked.
  void ask(double time, const guard::Decision& decision, size_t reached, bool dry_run);
  void answered(double time, uint64_t given_back);
  // At every reading: says so when nobody has answered in time.
  void advance(double time, const guard::Decision& decision);

 private:
  void close(double time, std::string_view effect);

  ActionLog& log_;
  double patience_;             // seconds
  TreeAction* open_ = nullptr;  // null: nothing is asked, or it is answered
  double asked_ = 0;
  uint64_t used_then_ = 0;
};

}  // namespace plimsoll::watch
