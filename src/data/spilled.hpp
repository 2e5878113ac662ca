// An array that is filled once from front to back and then read anywhere, in bounded memory: what is longer than
// `kept_bytes` lies in a temporary file.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "platform/scratch_file.hpp"

namespace plimsoll {

inline constexpr size_t spilled_kept_bytes = 1 << 20;

template <typename T>
class Spilled {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Spilled(size_t kept_bytes = spilled_kept_bytes)
      : most_(std::max<size_t>(1, kept_bytes / sizeof(T))) {}

  void push_back(const T& value) { append({&value, 1}); }
  void append(std::span<const T> values) {
    recent_.insert(recent_.end(), values.begin(), values.end());
    if (recent_.size() >= most_) spill();
  }
  // Nothing comes after this; what was read before may be read on.
  void finish() {
    if (file_) spill();
    recent_.shrink_to_fit();
  }

  uint64_t size() const { return in_file_ + recent_.size(); }
  T operator[](uint64_t i) const {
    T value;
    read(i, {&value, 1});
    return value;
  }
  // out.size() values from `first` on, which must be there. Allocates nothing; any number of threads may.
  void read(uint64_t first, std::span<T> out) const {
    if (first < in_file_) {
      const auto count = size_t(std::min<uint64_t>(out.size(), in_file_ - first));
      file_->read(first * sizeof(T), std::as_writable_bytes(out.first(count)));
      out = out.subspan(count);
      first += count;
    }
    if (!out.empty()) std::copy_n(recent_.begin() + ptrdiff_t(first - in_file_), out.size(), out.begin());
  }

 private:
  void spill() {
    if (!file_) file_ = std::make_unique<platform::ScratchFile>();
    file_->append(std::as_bytes(std::span(recent_)));
    in_file_ += recent_.size();
    recent_.clear();
  }

  size_t most_;
  std::vector<T> recent_;  // after those in the file
  std::unique_ptr<platform::ScratchFile> file_;
  uint64_t in_file_ = 0;
};

}  // namespace plimsoll
