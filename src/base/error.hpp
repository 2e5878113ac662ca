// The error types of the program. Library code throws; the command line prints one line and exits with `code`.
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#if FMT_VERSION < 100000 && !defined(FMT_HEADER_ONLY) && !defined(__clang__)  // clang gives it another symbol
// libfmt has it compiled. Without this line every room that formats into a buffer compiles all of it again: a tenth of its time.
extern template void fmt::detail::vformat_to<char>(buffer<char>&, fmt::string_view, fmt::format_args,
                                                   locale_ref);
#endif

namespace plimsoll {

// Exit codes of every command.
enum class Exit : int { done = 0, failed = 1, usage = 2, leak = 10, guarded = 11, interrupted = 130 };

// Something went wrong while working: a write failed, a file is damaged.
struct Error : std::runtime_error {
  explicit Error(const std::string& what, Exit exit = Exit::failed) : std::runtime_error(what), code(exit) {}
  Exit code;
};

// What came in is wrong: a flag, a file, a checkpoint of another model. Nothing has been written.
struct InputError : Error {
  explicit InputError(const std::string& what) : Error(what, Exit::usage) {}
};

// fail("[plan] {} bytes do not fit; give --memory at least {}", need, least) throws Error; fail_input
// likewise.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[noreturn]] void fail_input(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plimsoll
