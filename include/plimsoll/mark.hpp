// Tells `plimsoll watch` or `plimsoll guard`, where one watches this program, how far it is.
//
//   for (int64_t step = 1; step <= 3; ++step) plimsoll::mark_step(step);
//   plimsoll::mark_phase("validate");
//
// A mark is one datagram to the socket named by PLIMSOLL_SOCKET; it neither waits nor allocates. Without a watcher it
// costs a look at a flag.
#pragma once
#include <cstdint>
#include <string_view>

namespace plimsoll {

// False where nobody watches or the mark could not be delivered.
bool mark_step(int64_t step);
// At most 64 bytes of the name are sent.
bool mark_phase(std::string_view name);

}  // namespace plimsoll
