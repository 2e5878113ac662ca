#include "live/companion.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "live/site.hpp"
#include "platform/owned_folder.hpp"

namespace plimsoll::live {
namespace {

constexpr int below_the_run = 10;       // nice: the run's own work comes first
constexpr double farewell_seconds = 3;  // readers have this long to take the end of the record

// Keeps only `kept`, sorted, of all descriptors; the run's output must not stay open because of us.
void close_others(int first, int second) {
  const int null = open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) dup2(null, standard);
  const auto low = unsigned(std::min(first, second)), high = unsigned(std::max(first, second));
  if (low > 3) close_range(3, low - 1, 0);
  if (high > low + 1) close_range(low + 1, high - 1, 0);
  close_range(high + 1, ~0u, 0);
}

[[noreturn]] void serve(Listening listening, const std::string& token, int control) {
  setpgid(0, 0);  // Ctrl-C is for the run; we end with it
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCHLD}) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_NAME, "plimsoll-serve");
  setpriority(PRIO_PROCESS, 0, below_the_run);
  close_others(listening.descriptor, control);
  int code = 0;
  try {
    serve_followed(listening, token, control);
  } catch (...) {
    code = 1;
  }
  _exit(code);
}

}  // namespace

Companion::Companion(const ServeOptions& options) {
  if (!options.wanted) return;
  Listening listening = listen_on(parse_endpoint(options));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    fail("[serve] no socket pair can be made ({})", std::strerror(errno));
  // Twice, so that it is nobody's child: it is no part of a tree that is watched or waited for.
  const pid_t first = fork();
  if (first == 0) {
    if (fork() == 0) serve(listening, options.token, ends[1]);
    _exit(0);
  }
  const int error = errno;
  if (first > 0) waitpid(first, nullptr, 0);
  close(ends[1]);
  close(listening.descriptor);
  if (first < 0) {
    close(ends[0]);
    fail("[serve] no process for serving can be made ({})", std::strerror(error));
  }
  control_ = ends[0];
  url_ = listening.url;
}

void Companion::follow(const std::filesystem::path& record, bool remove_after) {
  if (control_ < 0) return;
  std::error_code ignored;
  const std::string message =
      (remove_after ? "-" : "+") + std::filesystem::absolute(record, ignored).string();
  // Nobody there any more is no reason to stop a run.
  [[maybe_unused]] const ssize_t sent = send(control_, message.data(), message.size(), MSG_NOSIGNAL);
}

Companion::~Companion() {
  if (control_ < 0) return;
  shutdown(control_, SHUT_WR);
  pollfd gone{control_, POLLIN, 0};
  poll(&gone, 1, int(farewell_seconds * 1000));
  close(control_);
}

std::filesystem::path temporary_record() {
  const std::string place = std::filesystem::temp_directory_path().string();
  static std::optional<platform::OwnedFolder> folder;  // ours until the process ends
  folder.emplace(place, "live");
  if (!folder->ok()) fail("no temporary folder can be made in {} ({})", place, std::strerror(errno));
  return std::filesystem::path(folder->path()) / "run.db";
}

}  // namespace plimsoll::live
