#include "watch/step_track.hpp"

#include <cmath>
#include <limits>

namespace plimsoll::watch {
namespace {

constexpr size_t most_phases = 1000;

}  // namespace

bool StepTrack::begin_phase(const std::string& name, double time) {
  if (!phases_.empty() && phases_.back().name == name) return false;
  end(time);
  // The oldest give way: a run of weeks has many validations, the last thousand tell as much.
  if (phases_.size() >= most_phases) phases_.erase(phases_.begin(), phases_.begin() + most_phases / 2);
  phases_.push_back({time, time, name});
  return true;
}

// The first pass over the data has ended when a further epoch is counted.
void StepTrack::take_epoch(double epoch, double time) {
  if (!first_epoch_)
    first_epoch_ = std::floor(epoch), first_epoch_end_ = std::numeric_limits<double>::infinity();
  if (std::floor(epoch) > *first_epoch_ && !std::isfinite(*first_epoch_end_)) first_epoch_end_ = time;
}

StepTrack::News StepTrack::take(const observe::Recognised& event, double time) {
  News news;
  if (!event.phase.empty()) {
    news.phase = begin_phase(event.phase, time);
    announced_ = event.announced;
  } else if (event.step && announced_) {
    news.phase = begin_phase("train", time);
    announced_ = false;
  }
  if (event.epoch) take_epoch(*event.epoch, time);
  const observe::StepSource before = counter_.source();
  counter_.take(event);
  const auto step = counter_.step();
  if (!step || (!event.step && event.source == observe::StepSource::none)) return news;
  if (counter_.source() != before) marks_.clear(), total_ = 0;
  if (event.source == counter_.source() && event.total > 0) total_ = event.total;
  news.told = event.source == observe::StepSource::socket;
  marks_.see(time, double(*step));
  news.step = step != last_;
  last_ = step;
  return news;
}

void StepTrack::end(double time) {
  if (!phases_.empty()) phases_.back().end = time;
}

}  // namespace plimsoll::watch
