#include "watch/step_track.hpp"

namespace plimsoll::watch {
namespace {

constexpr size_t most_phases = 1000;

}  // namespace

StepTrack::News StepTrack::take(const observe::Recognised& event, double time) {
  News news;
  if (!event.phase.empty() && (phases_.empty() || phases_.back().name != event.phase)) {
    end(time);
    // The oldest give way: a run of weeks has many validations, the last thousand tell as much.
    if (phases_.size() >= most_phases) phases_.erase(phases_.begin(), phases_.begin() + most_phases / 2);
    phases_.push_back({time, time, event.phase});
    news.phase = true;
  }
  const observe::StepSource before = counter_.source();
  counter_.take(event);
  const auto step = counter_.step();
  if (!step || (!event.step && event.source == observe::StepSource::none)) return news;
  if (counter_.source() != before) marks_.clear();
  marks_.see(time, double(*step));
  news.step = step != last_;
  last_ = step;
  return news;
}

void StepTrack::end(double time) {
  if (!phases_.empty()) phases_.back().end = time;
}

}  // namespace plimsoll::watch
