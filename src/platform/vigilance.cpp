#include "platform/vigilance.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// Set by the linker: where the program's text begins and ends.
extern "C" char __executable_start, etext;

namespace plimsoll::platform {

Vigilance become_vigilant() {
  Vigilance got;
  // What has been touched stays, and what will be; the program's own text is brought in now, for the paths not
  // taken yet. Locking all at once would fetch every library whole.
  got.locked = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0 &&
               mlock(&__executable_start, size_t(&etext - &__executable_start)) == 0;
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
