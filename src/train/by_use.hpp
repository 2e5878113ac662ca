// Numbers from 0 on in the order of their last use. Every call takes the same short time and allocates nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

class ByUse {
 public:
  // Number 0 is the oldest.
  explicit ByUse(size_t count) : after_(count + 1), before_(count + 1), end_(uint32_t(count)) {
    for (size_t i = 0; i <= count; ++i) {
      after_[i] = uint32_t(i == count ? 0 : i + 1);
      before_[i] = uint32_t(i == 0 ? count : i - 1);
    }
  }
  uint32_t oldest() const { return after_[end_]; }
  void use(uint32_t number) { move(number, end_); }
  // It becomes the oldest.
  void forget(uint32_t number) { move(number, after_[end_]); }

 private:
  void move(uint32_t number, uint32_t next) {
    if (number == next) return;
    after_[before_[number]] = after_[number];
    before_[after_[number]] = before_[number];
    const uint32_t previous = before_[next];
    after_[previous] = number, before_[number] = previous;
    after_[number] = next, before_[next] = number;
  }

  std::vector<uint32_t> after_, before_;  // a ring that is closed by `end_`, which is no number of its own
  uint32_t end_;
};

}  // namespace plimsoll
