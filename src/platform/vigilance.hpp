// Prepares a process that must act when memory runs out: locks its pages, raises its priority, and asks the
// kernel not to kill it, each as far as permissions allow.
#pragma once

namespace plimsoll::platform {

struct Vigilance {
  bool locked = false;     // every page, now and later
  bool preferred = false;  // scheduled before ordinary processes
  bool protected_from_kill = false;
};
// Call after launching others: what is started later inherits the protection from the kernel's choice.
Vigilance become_vigilant();

}  // namespace plimsoll::platform
