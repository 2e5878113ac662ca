// Launches a program to watch: its output is piped or inherited, its orphans are adopted, signals are
// forwarded.
#pragma once
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::platform {

struct LaunchOptions {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  bool pipes = true;  // stdout and stderr through us; else inherited
};

class Child {
 public:
  // Makes this process a subreaper, so that descendants whose parents die come to us. InputError naming the
  // command if it cannot be run. All signals blocked by us are unblocked in the child.
  explicit Child(const LaunchOptions& options);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }
  int output() const { return output_; }  // -1 where inherited
  int error() const { return error_; }
  void close_output();
  void close_error();
  // Collects every dead child, adopted orphans included.
  void reap();
  // As a shell gives it: the exit code, or 128 + the signal that ended it. nullopt while it runs.
  std::optional<int> exit_code() const { return exit_code_; }
  void send(int signal) const;

 private:
  int pid_ = -1, output_ = -1, error_ = -1;
  std::optional<int> exit_code_;
};

// Becomes the command, with these variables added to the environment. Returns only by InputError: it cannot be run.
[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment);

// Collects every child that has ended, whoever started it.
void reap_children();

// Signals as a readable descriptor. Blocks them for as long as it lives.
class SignalQueue {
 public:
  explicit SignalQueue(const std::vector<int>& signals);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  struct Arrived {
    int signal = 0;
    bool from_terminal = false;  // the whole foreground group has got it already
  };
  int descriptor() const { return descriptor_; }
  std::optional<Arrived> next();

 private:
  int descriptor_ = -1;
};

}  // namespace plimsoll::platform
