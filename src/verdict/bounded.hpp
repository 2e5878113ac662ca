// A series of any length in bounded memory: buckets with equal numbers of values. Adjacent buckets are merged
// whenever the bound is reached, so old and new values have the same resolution.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace plimsoll::verdict {

// `Bucket::join(const Bucket& later)` makes one of two neighbours.
template <typename Bucket>
class Bounded {
 public:
  // All memory is taken and touched here: the watcher stays flat.
  explicit Bounded(size_t capacity) : buckets_(capacity < 4 ? 4 : capacity) {}

  // `one` is a bucket of one value.
  void add(const Bucket& one) {
    if (used_ > 0 && in_last_ < per_bucket_) {
      buckets_[used_ - 1].join(one);
      ++in_last_;
      return;
    }
    if (used_ == buckets_.size()) halve();
    buckets_[used_++] = one;
    in_last_ = 1;
  }
  std::span<const Bucket> buckets() const { return {buckets_.data(), used_}; }

 private:
  void halve() {
    for (size_t i = 0; i + 1 < used_; i += 2) {
      buckets_[i].join(buckets_[i + 1]);
      buckets_[i / 2] = buckets_[i];
    }
    if (used_ % 2) buckets_[used_ / 2] = buckets_[used_ - 1];
    used_ = (used_ + 1) / 2;
    per_bucket_ *= 2;
  }

  std::vector<Bucket> buckets_;
  size_t used_ = 0, per_bucket_ = 1, in_last_ = 0;
};

}  // namespace plimsoll::verdict
