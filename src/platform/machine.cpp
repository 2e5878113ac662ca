#include "platform/machine.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/units.hpp"
#include "platform/clock.hpp"
#include "platform/proc.hpp"

namespace plimsoll::platform {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string machine_description() {
  utsname names{};
  uname(&names);
  const auto memory = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  return fmt::format("{} {} {}, {} processors, {}", names.sysname, names.release, names.machine,
                     sysconf(_SC_NPROCESSORS_ONLN), format_bytes(memory));
}

int usable_processors() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

int processors() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

void leave_at_once(int code) { _exit(code); }

int own_pid() { return getpid(); }
unsigned user_id() { return geteuid(); }

std::filesystem::path own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

bool process_lives(int pid) { return kill(pid, 0) == 0 || errno == EPERM; }

double seconds_since_process_start() {
  const auto stat = proc::Files().stat(getpid());
  if (!stat) fail("cannot read the start time of this process from /proc; is it mounted?");
  return boot_seconds() - double(stat->id.start_ticks) / proc::ticks_per_second();
}

void release_free_memory() { malloc_trim(0); }

}  // namespace plimsoll::platform
