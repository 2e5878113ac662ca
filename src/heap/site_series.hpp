// What each stack of one process held over time, in bounded memory for any length of run.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "heap/reader.hpp"

namespace plimsoll::heap {

class SiteSeries {
 public:
  // At most this many moments are kept; when they are full every second one is dropped and from then on only every
  // second look is kept. The newest look is always there.
  explicit SiteSeries(size_t most = 1024) : most_(most < 4 ? 4 : most) {}

  void add(double time, const std::vector<LiveSite>& live);

  const std::vector<double>& times() const { return times_; }
  // Bytes of a site at each of times(); shorter where the site has held nothing since.
  std::span<const float> bytes(uint32_t site) const {
    return site < sites_.size() ? std::span<const float>(sites_[site]) : std::span<const float>();
  }
  uint32_t sites() const { return uint32_t(sites_.size()); }
  float peak(uint32_t site) const;

 private:
  void thin();

  size_t most_, stride_ = 1, looks_ = 0;
  bool last_is_extra_ = false;
  std::vector<double> times_;
  std::vector<std::vector<float>> sites_;
};

}  // namespace plimsoll::heap
