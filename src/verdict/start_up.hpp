// When a program began what it was started for, by the pages of its code: they grow while libraries are
// loaded, and once more when the code of its loop is used for the first time. What memory does until then is
// start-up and no growth.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

namespace plimsoll::verdict {

class StartUp {
 public:
  // `mapped`: resident bytes the program does not own. In the order of time.
  void see(double time, double mapped) {
    std::rotate(latest_.begin(), latest_.begin() + 1, latest_.end());
    latest_.back() = {time, mapped};
    if (++seen_ < latest_.size()) return;
    // What lasted for some samples: one alone may have been taken between two counters.
    const double low = std::min_element(latest_.begin(), latest_.end(), [](const Seen& a, const Seen& b) {
                         return a.mapped < b.mapped;
                       })->mapped;
    if (seen_ == latest_.size()) level_ = low;
    if (low <= grown * level_ + least) return;
    // A process more has all the pages of the one that forked it.
    if (level_ < forks_from || low < forked * level_) {
      if (times_.size() == most) times_.erase(times_.begin());
      times_.push_back(latest_.front().time);
    }
    level_ = low;
  }
  // Seconds, on the clock of the samples; `otherwise` where nothing was loaded. Pages that grow on and on are
  // those of a file that is read, so the time looked for is well before `now`.
  double over(double now, double otherwise) const {
    for (size_t i = times_.size(); i-- > 0;)
      if (times_[i] - otherwise <= latest_share * (now - otherwise)) return times_[i];
    return otherwise;
  }
  // The same while the program runs: the latest time also counts once nothing more was loaded for much longer
  // than usual. Later code (a first validation) then moves it again, which only delays a call; a run that is
  // over is not cut short by it.
  double seems_over(double now, double otherwise) const {
    return !times_.empty() && now - times_.back() >= long_after(times_.back() - otherwise)
               ? times_.back()
               : over(now, otherwise);
  }

 private:
  // A quarter of the time it took so far, and three times the median of the latest gaps between times at
  // which something was loaded.
  double long_after(double took) const {
    const double least = std::max(least_quiet, quiet_share * took);
    if (times_.size() <= recent) return least;
    std::array<double, recent> gaps;
    for (size_t i = 0; i < recent; ++i)
      gaps[i] = *(times_.end() - long(i) - 1) - *(times_.end() - long(i) - 2);
    std::sort(gaps.begin(), gaps.end());
    return std::max(least, quiet * gaps[recent / 2]);
  }
  struct Seen {
    double time = 0, mapped = 0;
  };
  static constexpr double grown = 1.08, least = 2 << 20;
  static constexpr double forked = 1.3, forks_from = 40 << 20;
  static constexpr double latest_share = .7;
  static constexpr size_t most = 64, recent = 5;
  static constexpr double least_quiet = 10, quiet_share = .25,
                          quiet = 3;  // seconds, of the time so far, gaps
  std::array<Seen, 5> latest_;
  size_t seen_ = 0;
  double level_ = 0;
  std::vector<double> times_;
};

}  // namespace plimsoll::verdict
