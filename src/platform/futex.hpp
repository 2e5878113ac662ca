// Sleeping on a word of memory until another thread, or another process, changes it.
#pragma once
#include <atomic>
#include <cstdint>

namespace plimsoll::platform {

// Returns at once where `word` is no longer `value`; may return early for no reason.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value);
void sleep_while(std::atomic<uint32_t>& word, uint32_t value, double at_most);  // seconds
void wake(std::atomic<uint32_t>& word, int count);
// The same for a word in memory that several processes share.
void sleep_while_shared(std::atomic<uint32_t>& word, uint32_t value, double at_most);
void wake_shared(std::atomic<uint32_t>& word, int count);

}  // namespace plimsoll::platform
