#include "data/token_hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace plimsoll {

struct TokenHash::State {
  XXH3_state_t hash;
};

TokenHash::TokenHash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->hash); }
TokenHash::~TokenHash() = default;
void TokenHash::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->hash, bytes.data(), bytes.size());
}
uint64_t TokenHash::value() const { return XXH3_64bits_digest(&state_->hash); }

}  // namespace plimsoll
