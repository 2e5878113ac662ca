// 64-bit XXH3 of tokens as they come: what a resumed run compares.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace plimsoll {

class TokenHash {
 public:
  TokenHash();
  ~TokenHash();
  TokenHash(const TokenHash&) = delete;
  TokenHash& operator=(const TokenHash&) = delete;

  void update(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
