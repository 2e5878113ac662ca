// Graceful termination: the first SIGINT or SIGTERM asks the loop to save and exit; a second SIGINT ends the
// process immediately.
#pragma once
#include <csignal>

namespace plimsoll {

// Listens from construction to destruction, then puts back whatever handled the signals before. One at a
// time.
class StopRequest {
 public:
  StopRequest();  // Error when another one is listening
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  bool requested() const;
  int signal() const;  // SIGINT or SIGTERM; 0 as long as none came

 private:
  struct sigaction old_interrupt_, old_terminate_;
};

// Blocks all signals for the calling thread while it lives. A thread started meanwhile keeps them blocked.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Writing to a pipe nobody reads is an error of that write from now on, not the end of this process.
void ignore_broken_pipes();

// While there is nothing to save: SIGINT and SIGTERM say `message` and end the process with code 130 at once, whatever it
// is doing. Puts back whatever handled the signals before; a StopRequest may listen within its life.
class LeaveAtOnce {
 public:
  explicit LeaveAtOnce(const char* message);  // kept, not copied
  ~LeaveAtOnce();
  LeaveAtOnce(const LeaveAtOnce&) = delete;
  LeaveAtOnce& operator=(const LeaveAtOnce&) = delete;

 private:
  struct sigaction old_interrupt_, old_terminate_;
};

// From now on a second SIGINT first gives `file`, a terminal, all of its rows and its cursor back; -1: nothing to give.
void restore_terminal_at_death(int file);

}  // namespace plimsoll
