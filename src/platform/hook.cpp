#include "platform/hook.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

extern char** environ;

namespace plimsoll::platform {

Hook::Hook(std::string command) : command_(std::move(command)) {
  for (auto& variable : variables_) environment_.push_back(variable.data());
  for (char** entry = environ; *entry; ++entry) environment_.push_back(*entry);
  environment_.push_back(nullptr);
}

int Hook::run(std::string_view level, std::string_view reason, uint64_t used, uint64_t limit, int pid) {
  auto set = [&](size_t i, const char* name, const auto& value) {
    auto& text = variables_[i];
    *fmt::format_to_n(text.data(), text.size() - 1, "PLIMSOLL_GUARD_{}={}", name, value).out = '\0';
  };
  set(0, "LEVEL", level), set(1, "REASON", reason), set(2, "USED", used), set(3, "LIMIT", limit),
      set(4, "PID", pid);
  // The guard is protected from the kernel's choice of whom to kill; what it starts should not be.
  char shell[] = "/bin/sh", option[] = "-c",
       script[] = "echo 0 >/proc/self/oom_score_adj 2>/dev/null; eval \"$0\"";
  char* arguments[] = {shell, option, script, command_.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);  // which the guard ignores
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  pid_t started = -1;
  int failed = posix_spawn(&started, shell, nullptr, &attributes, arguments, environment_.data());
  posix_spawnattr_destroy(&attributes);
  return failed ? -1 : started;
}

}  // namespace plimsoll::platform
