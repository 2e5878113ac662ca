// Many short texts in one block of memory, found again by open addressing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::tokens {

class Texts {
 public:
  void add(std::string_view text) {
    block_ += text;
    ends_.push_back(uint32_t(block_.size()));
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const uint32_t begin = i ? ends_[i - 1] : 0;
    return {block_.data() + begin, ends_[i] - begin};
  }

  // Makes texts findable, all or those `wanted`. Returns the number of one that equals an earlier one, which stays the
  // one that is found; -1 if all differ.
  int32_t index(const std::vector<bool>* wanted = nullptr);
  // The number of a text, -1 if it is not there.
  int32_t find(std::string_view text) const;

 private:
  std::string block_;
  std::vector<uint32_t> ends_;
  std::vector<int32_t> slots_;  // a power of two, -1 where there is none
};

}  // namespace plimsoll::tokens
