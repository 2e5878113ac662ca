#include "heap/site_series.hpp"

#include <algorithm>

namespace plimsoll::heap {

void SiteSeries::thin() {
  const auto halve = [](auto& values) {
    size_t kept = 0;
    for (size_t i = 0; i < values.size(); i += 2) values[kept++] = values[i];
    values.resize(kept);
  };
  halve(times_);
  for (auto& values : sites_) halve(values);
  stride_ *= 2;
}

void SiteSeries::add(double time, const std::vector<LiveSite>& live) {
  if (last_is_extra_) {
    // The newest look stood in for one that is kept; it makes room.
    times_.pop_back();
    for (auto& values : sites_)
      if (values.size() > times_.size()) values.pop_back();
  }
  if (times_.size() >= most_) thin();
  last_is_extra_ = looks_++ % stride_ != 0;
  times_.push_back(time);
  for (const LiveSite& site : live) {
    if (site.site >= sites_.size()) sites_.resize(site.site + 1);
    auto& values = sites_[site.site];
    values.resize(times_.size() - 1);
    values.push_back(float(site.bytes));
  }
}

float SiteSeries::peak(uint32_t site) const {
  const auto values = bytes(site);
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace plimsoll::heap
