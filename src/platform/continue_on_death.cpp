#include "platform/continue_on_death.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace plimsoll::platform {

struct ContinueOnDeath::Shared {
  std::atomic<uint32_t> count;
  proc::ProcessId ids[most];
};

namespace {

// Waits until every copy of the other end is closed, which the kernel does when its owner dies.
void wait_for_death(int pipe) {
  char byte;
  while (read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace

ContinueOnDeath::ContinueOnDeath(const proc::Files& files) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail("cannot map memory for the list of stopped processes ({})", std::strerror(errno));
  shared_ = new (memory) Shared();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  watcher_ = fork();
  if (watcher_ != 0) {
    close(ends[0]);
    pipe_ = ends[1];
    return;
  }
  // A session of its own: a signal to our group or a closing terminal must not reach it.
  setsid();
  prctl(PR_SET_NAME, "plimsoll-cont");
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) ::signal(signal, SIG_IGN);
  const int null = open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) dup2(null, standard);  // a reader of our output must not wait for it
  close(ends[1]);
  wait_for_death(ends[0]);
  for (uint32_t i = shared_->count; i-- > 0;) send_signal(files, shared_->ids[i], SIGCONT);
  _exit(0);
}

ContinueOnDeath::~ContinueOnDeath() {
  if (pipe_ >= 0) close(pipe_);
  if (watcher_ > 0) waitpid(watcher_, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

size_t ContinueOnDeath::size() const { return shared_->count; }
const proc::ProcessId& ContinueOnDeath::operator[](size_t i) const { return shared_->ids[i]; }

bool ContinueOnDeath::contains(const proc::ProcessId& id) const {
  return std::find(shared_->ids, shared_->ids + shared_->count, id) != shared_->ids + shared_->count;
}

bool ContinueOnDeath::add(const proc::ProcessId& id) {
  if (contains(id)) return true;
  const uint32_t at = shared_->count;
  if (at == most) return false;
  shared_->ids[at] = id;
  shared_->count = at + 1;
  return true;
}

void ContinueOnDeath::remove(const proc::ProcessId& id) {
  auto* end = shared_->ids + shared_->count;
  auto* at = std::find(shared_->ids, end, id);
  if (at == end) return;
  std::move(at + 1, end, at);  // keeps the order: children before parents
  shared_->count = shared_->count - 1;
}

int send_signal(const proc::Files& files, const proc::ProcessId& id, int signal) {
  // The descriptor holds on to one process; if that is the one meant now, it is the one that gets the signal.
  const int process = int(syscall(SYS_pidfd_open, id.pid, 0));
  if (process < 0 && errno != ENOSYS) return errno;
  auto stat = files.stat(id.pid);
  int error = 0;
  if (!stat || stat->id != id)
    error = ESRCH;
  else if ((process < 0 ? kill(id.pid, signal)
                        : int(syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0))))
    error = errno;
  if (process >= 0) close(process);
  return error;
}

bool may_signal(int pid) { return kill(pid, 0) == 0 || errno != EPERM; }

}  // namespace plimsoll::platform
