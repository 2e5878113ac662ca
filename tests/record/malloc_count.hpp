// Counts calls of malloc in this program while `counting` is on: the claim "no allocation" is checked, not
// trusted.
#pragma once
#include <atomic>
#include <cstdint>

namespace plimsoll::test {
// False under a sanitizer, which brings its own malloc.
extern const bool can_count_mallocs;
extern std::atomic<bool> counting;
extern std::atomic<uint64_t> mallocs;
}  // namespace plimsoll::test
