// Which part of a series is judged, and along which axis: from the first step to the last and by steps where a program
// tells them and they move with it; else by time, without the start-up and the coming down.
#pragma once
#include <span>
#include <vector>

#include "verdict/compact.hpp"

namespace plimsoll::verdict {

// Steps as a measure of work done. Marks that came in a burst (output that was held back) count as one, and a count
// that stands still while the program goes on is not used at all.
class Work {
 public:
  Work() = default;
  Work(std::span<const StepMark> marks, std::span<const Bucket> series);

  bool known() const { return marks_.size() > 1; }
  double first_time() const { return marks_.front().time; }
  double last_time() const { return marks_.back().time; }
  double usual_gap() const { return usual_gap_; }  // seconds between marks
  double at(double time) const;                    // steps, extended beyond both ends
  double time_of(double step) const;

 private:
  std::vector<StepMark> marks_;
  double usual_gap_ = 0;
};

struct Stretch {
  std::vector<Bucket> buckets;  // their times are steps where `work` is known
  Work work;
  double first_time = 0, last_time = 0;  // seconds
  size_t samples = 0;

  double begin() const { return buckets.front().first_time; }
  double end() const { return buckets.back().last_time; }
  double to_time(double position) const { return work.known() ? work.time_of(position) : position; }
  // Seconds a unit of the axis takes, on the average since `position`.
  double pace_since(double position) const;
};

Stretch judged_stretch(const CompactSeries& series, const Options& options);

}  // namespace plimsoll::verdict
