// The program: finds the subcommand, turns every error into one line and a documented exit code.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <system_error>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/mask.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/parse.hpp"
#include "platform/out_of_memory.hpp"

namespace plimsoll::cli {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void run_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::string names;
    for (const Command* command : commands()) names += (names.empty() ? "" : ", ") + command->name;
    fail_input("no command given; the commands are {}", names);
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || (first == "help" && words.size() == 1))
    return print(program_help());
  if (first == "help") return print(command_help(find_command(words[1])));
  if (first == "--version") return print("plimsoll " PLIMSOLL_VERSION "\n");
  if (first.starts_with('-'))
    fail_input("unknown option '{}' before a command; see `plimsoll --help`", first);
  const Command& command = find_command(first);
  const Options options = command.options();
  const std::span rest = std::span(words).subspan(1);
  if (parse(options, rest, "plimsoll " + command.name)) return print(command_help(command));
  options.body()();
}

// Output that is lost must not look like success. A reader that went away has had what it wanted.
void check_output() {
  errno = 0;
  std::fflush(stdout);
  if (!std::ferror(stdout)) return;
  if (errno == 0) std::fputc('\n', stdout), std::fflush(stdout);  // it failed before: the reason once more
  if (errno != EPIPE) fail("cannot write to standard output: {}", error_text(errno ? errno : EIO));
}

}  // namespace
}  // namespace plimsoll::cli

// Before the commands register themselves, which allocates.
[[gnu::constructor(101)]] static void begin() { plimsoll::platform::end_plainly_without_memory(); }

// The one line that an error is, and its code. After a failed allocation that is most likely the reason, whatever else
// the error says.
static int end_with(const char* before, const std::exception& e, plimsoll::Exit code) {
  const std::string what = plimsoll::escape(e.what());
  if (plimsoll::platform::memory_was_refused()) {
    plimsoll::platform::say_out_of_memory(what);
    return int(plimsoll::Exit::failed);
  }
  fmt::print(stderr, "plimsoll: {}{}\n", before, what);
  return int(code);
}

int main(int argc, char** argv) {
  try {
    plimsoll::cli::run_program({argv + std::min(argc, 1), argv + argc});
    plimsoll::cli::check_output();
    return plimsoll::cli::exit_code;
  } catch (const plimsoll::Error& e) {
    return end_with("", e, e.code);
  } catch (const std::bad_alloc&) {
    plimsoll::platform::say_out_of_memory();
    return int(plimsoll::Exit::failed);
  } catch (const std::system_error& e) {
    if (!std::ferror(stdout)) return end_with("unexpected: ", e, plimsoll::Exit::failed);
    fmt::print(stderr, "plimsoll: cannot write to standard output: {}\n", e.code().message());
    return int(plimsoll::Exit::failed);
  } catch (const std::exception& e) {
    return end_with("unexpected: ", e, plimsoll::Exit::failed);
  }
}
