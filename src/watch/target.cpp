#include "watch/target.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/mask.hpp"

namespace plimsoll::watch {

Target::Target(const TargetOptions& options)
    : files_(options.roots), command_(options.command), pid_(options.pid) {
  if (!command_.empty()) return;
  const auto stat = files_.stat(pid_);
  if (!stat)
    fail_input("there is no process {}{}; see `ps` for the running processes{}", pid_,
               files_.hides_processes() ? " to be seen (/proc hides processes of other users)" : "",
               options.advice);
  if (stat->state == 'Z')
    fail_input("process {} has already ended (it is a zombie that its parent has not reaped)", pid_);
}

void Target::launch(const Launch& how) {
  platform::LaunchOptions launch{.command = command_, .environment = how.environment, .pipes = how.pipes};
  if (how.socket) {
    socket_ = std::make_unique<observe::StepSocket>();
    launch.environment.emplace_back("PLIMSOLL_SOCKET", socket_->path());
  }
  child_ = std::make_unique<platform::Child>(launch);
}

std::string Target::description() const { return child_ ? display_command(command_) : std::to_string(pid_); }

bool Target::ended(const observe::Snapshot& snapshot) const {
  if (child_ && !child_->exit_code()) return false;
  return std::all_of(snapshot.processes.begin(), snapshot.processes.end(),
                     [](const observe::Process& process) { return process.zombie(); });
}

void Target::pass_on(const platform::SignalQueue::Arrived& arrived) const {
  if (child_ && !arrived.from_terminal) child_->send(arrived.signal);
}

void Target::reap() {
  if (child_)
    child_->reap();
  else
    platform::reap_children();
}

}  // namespace plimsoll::watch
