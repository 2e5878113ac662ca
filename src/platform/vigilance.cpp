#include "platform/vigilance.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace plimsoll::platform {

Vigilance become_vigilant() {
  Vigilance got;
  got.locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
  prctl(PR_SET_TIMERSLACK, 1UL);
  // The lowest real-time priority goes before every ordinary process and behind everything else in real time.
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
  got.preferred = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0 ||
                  setpriority(PRIO_PROCESS, 0, -20) == 0;
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    got.protected_from_kill = write(file, "-1000", 5) == 5;
    close(file);
  }
  return got;
}

}  // namespace plimsoll::platform
