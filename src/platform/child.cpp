#include "platform/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

extern char** environ;

namespace plimsoll::platform {
namespace {

void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0)
    fail("cannot create a pipe for the program's output ({})", std::strerror(errno));
}

[[noreturn]] void cannot_run(const std::string& program, int code) {
  struct stat found {};
  // A name without a slash was looked for in PATH.
  if (program.find('/') != program.npos && stat(program.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) fail_input("'{}' is a folder; give a program to run", program);
    if (access(program.c_str(), X_OK) != 0)
      fail_input("'{}' is not executable; run `chmod +x {}`, or put its interpreter in front", program,
                 program);
    if (code == ENOENT)
      fail_input("'{}' needs an interpreter that is not there; look at its first line, or put one in front",
                 program);
  }
  if (code == ENOEXEC)
    fail_input(
        "'{}' is not a program of this machine and does not begin with #!; put its interpreter in front",
        program);
  fail_input("'{}' cannot be run ({}); give a program that is in PATH or a path to one", program,
             std::strerror(code));
}

}  // namespace

Child::Child(const LaunchOptions& options) {
  if (options.command.empty())
    fail_input("no command to watch was given; write it after --, like `plimsoll watch -- python train.py`");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<char*> arguments, environment;
  for (const std::string& argument : options.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<std::string> added;
  for (const auto& [name, value] : options.environment) added.push_back(name + "=" + value);
  for (char** entry = environ; *entry; ++entry) {
    bool replaced = false;
    for (const auto& [name, value] : options.environment)
      replaced |= std::strncmp(*entry, (name + "=").c_str(), name.size() + 1) == 0;
    if (!replaced) environment.push_back(*entry);
  }
  for (std::string& entry : added) environment.push_back(entry.data());
  environment.push_back(nullptr);

  int output[2] = {-1, -1}, error[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (options.pipes) {
    make_pipe(output);
    make_pipe(error);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    posix_spawn_file_actions_adddup2(&actions, error[1], 2);
  }
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int failed = posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (options.pipes) close(output[1]), close(error[1]);
  output_ = output[0], error_ = error[0];
  if (failed) {
    close_output(), close_error();
    cannot_run(options.command[0], failed);
  }
}

void become(const std::vector<std::string>& command,
            const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  cannot_run(command[0], errno);
}

Child::~Child() { close_output(), close_error(); }

void Child::close_output() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

void Child::close_error() {
  if (error_ >= 0) close(error_);
  error_ = -1;
}

void Child::reap() {
  int status = 0;
  for (pid_t dead; (dead = waitpid(-1, &status, WNOHANG)) > 0;)
    if (dead == pid_ && (WIFEXITED(status) || WIFSIGNALED(status)))
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::send(int signal) const {
  if (!exit_code_) kill(pid_, signal);
}

void reap_children() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

SignalQueue::SignalQueue(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) fail("cannot receive signals ({})", std::strerror(errno));
}

SignalQueue::~SignalQueue() { close(descriptor_); }

std::optional<SignalQueue::Arrived> SignalQueue::next() {
  signalfd_siginfo info;
  if (read(descriptor_, &info, sizeof info) != ssize_t(sizeof info)) return std::nullopt;
  return Arrived{int(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace plimsoll::platform
