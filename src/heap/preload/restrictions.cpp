// Programs that restrict their own system calls, by seccomp: one they did not foresee ends them.
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/preload/process.hpp"

// Before a filter comes, the right to gain privileges is given up: without that only root may set one.
extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) {
  va_list rest;
  va_start(rest, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(rest, unsigned long);
  va_end(rest);
  if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) plimsoll::heap::do_no_more();
  return int(syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]));
}
