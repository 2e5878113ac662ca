#include "platform/signals.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/error.hpp"

namespace plimsoll {
namespace {

// A handler may touch nothing but lock-free atomics.
std::atomic<int> received{0};
std::atomic<bool> listening{false};
std::atomic<int> terminal{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  int none = 0;
  if (received.compare_exchange_strong(none, number) || number != SIGINT) return;
  // Asked before and now impatient: die of the signal itself, so that the parent sees why. It is delivered
  // when this handler returns and unblocks it.
  if (const int file = terminal.load(); file >= 0) {
    constexpr char whole[] = "\0337\033[r\0338\033[J\033[?25h";
    [[maybe_unused]] const auto written = write(file, whole, sizeof whole - 1);
  }
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

std::atomic<const char*> last_words{""};

void leave_at_once(int) {
  constexpr char name[] = "plimsoll: ";
  const char* message = last_words.load();
  [[maybe_unused]] auto written = write(2, name, sizeof name - 1);
  written = write(2, message, std::strlen(message));
  written = write(2, "\n", 1);
  _exit(int(Exit::interrupted));
}

}  // namespace

LeaveAtOnce::LeaveAtOnce(const char* message) {
  last_words = message;
  struct sigaction action {};
  action.sa_handler = leave_at_once;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

LeaveAtOnce::~LeaveAtOnce() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

StopRequest::StopRequest() {
  if (listening.exchange(true)) fail("[signals] a stop request is already being listened for");
  received = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

StopRequest::~StopRequest() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  listening = false;
}

bool StopRequest::requested() const { return received.load(std::memory_order_relaxed) != 0; }

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void restore_terminal_at_death(int file) { terminal = file; }
int StopRequest::signal() const { return received.load(std::memory_order_relaxed); }

}  // namespace plimsoll
