// Processes that one line starts again and again and that stay, such as the workers of a loader made anew for each
// evaluation: each holds little that it allocated itself, and much that it copied from its parent. A pure function.
#pragma once
#include <optional>
#include <vector>

namespace plimsoll::diagnose {

struct KeptProcess {
  double born = 0;   // seconds
  double bytes = 0;  // what it owns
};

struct KeptProcesses {
  size_t count = 0;
  double bytes = 0, rate = 0;  // bytes a second
};

// Where processes that live at `until` came one after the other, and go on coming; nullopt for a pool that was started once.
std::optional<KeptProcesses> keeps_processes(std::vector<KeptProcess> living, double until);

}  // namespace plimsoll::diagnose
