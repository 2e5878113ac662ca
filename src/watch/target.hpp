// Attaches to a process or launches a command, with a socket to report steps to; shared by watch and guard.
//
//   Target target({.command = {}, .pid = 4711});   // refused where there is no such process
//   Target target({.command = {"make"}});          // starts nothing yet
//   target.launch({.pipes = false});
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/process.hpp"
#include "observe/step_socket.hpp"
#include "platform/child.hpp"
#include "platform/proc.hpp"

namespace plimsoll::watch {

struct TargetOptions {
  std::vector<std::string> command;  // else `pid`
  int pid = 0;
  proc::Roots roots;
  std::string_view advice = "";  // ends the refusal of a process that is not there
};

class Target {
 public:
  // InputError where the process to attach to is not there or has ended.
  explicit Target(const TargetOptions& options);

  using Environment = std::vector<std::pair<std::string, std::string>>;
  struct Launch {
    bool pipes = false;            // its output through us; else inherited
    bool socket = true;            // PLIMSOLL_SOCKET in its environment
    Environment environment = {};  // added to ours
  };
  // Starts the command. InputError where it cannot be run.
  void launch(const Launch& how);

  const proc::Files& files() const { return files_; }
  int root() const { return child_ ? child_->pid() : pid_; }
  platform::Child* child() { return child_.get(); }  // null: attached, not ours to end
  const platform::Child* child() const { return child_.get(); }
  observe::StepSocket* socket() { return socket_.get(); }
  // The command, masked, or the process attached to.
  std::string description() const;
  std::optional<int> exit_code() const { return child_ ? child_->exit_code() : std::nullopt; }
  // Nobody of the tree lives any more and a launched command has been collected.
  bool ended(const observe::Snapshot& snapshot) const;

  // To a launched command; one that was attached to has got its own.
  void pass_on(const platform::SignalQueue::Arrived& arrived) const;
  // Collects dead children: the command, orphans it left to us, helpers of ours.
  void reap();

 private:
  proc::Files files_;
  std::vector<std::string> command_;
  int pid_;
  std::unique_ptr<observe::StepSocket> socket_;
  std::unique_ptr<platform::Child> child_;
};

}  // namespace plimsoll::watch
