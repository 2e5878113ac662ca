// How a program ends for which there is no memory: with one line and code 1.
#pragma once
#include <string_view>

namespace plimsoll::platform {

// From now on the first `new` that fails ends the process with code 1 and one line on standard error, and so does an
// exception that nobody catches after any allocation failed. For programs; a library leaves this to whoever uses it.
void end_plainly_without_memory();

// Whether an allocation has failed, as far as they are counted.
bool memory_was_refused();
// Says it, and what could not be done for it. Allocates nothing.
void say_out_of_memory(std::string_view what = {});

}  // namespace plimsoll::platform
