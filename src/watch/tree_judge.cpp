#include "watch/tree_judge.hpp"

#include <algorithm>

namespace plimsoll::watch {
namespace {

constexpr size_t held_back = 12;

}  // namespace

TreeJudge::TreeJudge() : online_({.patience_seconds = verdict::usual_patience}) {}

void TreeJudge::reached(const StepTrack& steps) {
  if (!steps.marks().empty()) online_.step(steps.marks().back(), steps.total());
  if (steps.first_epoch_end()) online_.first_epoch_end(*steps.first_epoch_end());
}

bool TreeJudge::add(const observe::Snapshot& snapshot, uint64_t limit) {
  history_.add(snapshot);
  late_.push_back({snapshot.time, snapshot.bytes, snapshot.living()});
  if (late_.size() > held_back) {
    series_.add(late_.front().time, late_.front().bytes);
    late_.pop_front();
  }
  start_up_.see(snapshot.time, double(snapshot.rss) - double(snapshot.bytes - snapshot.swap));
  online_.loaded(start_up_.seems_over(snapshot.time, history_.first_time()));
  online_.limit(double(limit));
  const bool before = online_.first_leak().has_value();
  online_.add({snapshot.time, double(snapshot.bytes)});
  return !before && online_.first_leak();
}

void TreeJudge::leave_out_the_end() {
  size_t most = 0;
  for (const Late& sample : late_) most = std::max(most, sample.processes);
  while (late_.size() > 1 && late_.back().processes < most) late_.pop_back();
  while (late_.size() > 1 && double(late_.back().bytes) < 0.99 * double(late_[late_.size() - 2].bytes))
    late_.pop_back();
}

double TreeJudge::close(double otherwise) {
  const double until = late_.empty() ? otherwise : late_.back().time;
  for (const Late& sample : late_) series_.add(sample.time, sample.bytes);
  late_.clear();
  return until;
}

diagnose::Judgement TreeJudge::judge(verdict::Options options, double until) const {
  options.loaded = start_up_.over(until, history_.first_time());
  return diagnose::judge_tree(series_, history_, options, until);
}

}  // namespace plimsoll::watch
