// Determines the role of each process in its tree from its behaviour: how much memory and CPU time it uses,
// how long it lives, and what its siblings are. Names are not used.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "diagnose/history.hpp"

namespace plimsoll::diagnose {

enum class ProcessRole { main, wrapper, worker, short_lived, other };
const char* role_name(ProcessRole role);  // "main", "wrapper", "worker pool", "short-lived", "other"

struct WorkerPool {
  int group = -1;
  std::vector<proc::ProcessId> members;  // by pid
  std::string explanation;               // "worker pool: 20 x ~400 MB, sharing 310 MB each, stable"
};

struct Roles {
  std::map<proc::ProcessId, ProcessRole> role;
  std::map<proc::ProcessId, std::string> explanation;  // of every process that is not in a pool
  std::vector<WorkerPool> pools;
  const WorkerPool* pool_of(const proc::ProcessId& id) const;
};

Roles find_roles(const History& history);

// Low-water of the first and last third of a series, and whether it moved by more than 5 % (and 1 MB) between
// them.
struct Drift {
  double first = 0, last = 0;
  bool stable() const;
};
Drift drift(const verdict::Series& series);

}  // namespace plimsoll::diagnose
