#include "checkpoint/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>

namespace plimsoll {
namespace {

XXH3_state_t* in(std::byte* state) { return std::launder(reinterpret_cast<XXH3_state_t*>(state)); }
const XXH3_state_t* in(const std::byte* state) {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(state));
}

ChecksumText text_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  ChecksumText text;
  for (size_t i = 0; i < sizeof canonical.digest; ++i) {
    text[2 * i] = "0123456789abcdef"[canonical.digest[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[canonical.digest[i] & 15];
  }
  return text;
}

}  // namespace

void Checksum::reset() {
  static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
  XXH3_128bits_reset(new (state_) XXH3_state_t);
}

void Checksum::update(const void* data, size_t bytes) { XXH3_128bits_update(in(state_), data, bytes); }

ChecksumText Checksum::text() const { return text_of(XXH3_128bits_digest(in(state_))); }

ChecksumText checksum_of(std::string_view bytes) { return text_of(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace plimsoll
