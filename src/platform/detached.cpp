#include "platform/detached.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace plimsoll::platform {
namespace {

// Standard streams go to /dev/null: whoever reads this process's output must not wait for the helper.
void close_others(int first, int second) {
  const int null = open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) dup2(null, standard);
  const auto low = unsigned(std::min(first, second)), high = unsigned(std::max(first, second));
  if (low > 3) close_range(3, low - 1, 0);
  if (high > low + 1) close_range(low + 1, high - 1, 0);
  close_range(high + 1, ~0u, 0);
}

[[noreturn]] void be_detached(const DetachedOptions& options, const std::function<void()>& work) {
  setpgid(0, 0);  // Ctrl-C is for the process that started this one
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCHLD}) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_NAME, options.name);
  setpriority(PRIO_PROCESS, 0, options.nice);
  close_others(options.keep[0], options.keep[1]);
  int code = 0;
  try {
    work();
  } catch (...) {
    code = 1;
  }
  _exit(code);
}

}  // namespace

int run_detached(const DetachedOptions& options, const std::function<void()>& work) {
  const pid_t first = fork();
  if (first == 0) {
    if (fork() == 0) be_detached(options, work);
    _exit(0);
  }
  if (first < 0) return errno;
  waitpid(first, nullptr, 0);
  return 0;
}

}  // namespace plimsoll::platform
