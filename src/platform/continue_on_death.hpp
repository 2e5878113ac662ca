// A list of stopped processes, and a small helper process that continues them if this process dies without
// doing so, so that even SIGKILL leaves no process stopped.
#pragma once
#include <cstddef>

#include "platform/proc.hpp"

namespace plimsoll::platform {

class ContinueOnDeath {
 public:
  static constexpr size_t most = 16384;

  // Forks; call before there are threads. Where that is not possible the list works, without the safety.
  explicit ContinueOnDeath(const proc::Files& files);
  ~ContinueOnDeath();
  ContinueOnDeath(const ContinueOnDeath&) = delete;
  ContinueOnDeath& operator=(const ContinueOnDeath&) = delete;

  int watcher() const { return watcher_; }  // pid and session of the tiny process; -1: there is none
  size_t size() const;
  const proc::ProcessId& operator[](size_t i) const;
  // Before the process is stopped, so that no moment is without cover. False where the list is full.
  bool add(const proc::ProcessId& id);
  void remove(const proc::ProcessId& id);
  bool contains(const proc::ProcessId& id) const;

 private:
  struct Shared;
  Shared* shared_ = nullptr;
  int watcher_ = -1, pipe_ = -1;
};

// Sends to the process itself, never to another that got its pid. 0, or an errno code: ESRCH when it is gone.
int send_signal(const proc::Files& files, const proc::ProcessId& id, int signal);
// False where it belongs to another user.
bool may_signal(int pid);

}  // namespace plimsoll::platform
