// Finds the process of a tree that grows: the one that most exceeds the memory it held more than two seconds
// ago, or whose floor rises most over the second half of its life. A process that was large from the start,
// fluctuates, or only waits for its children is not chosen.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "observe/process.hpp"

namespace plimsoll::diagnose {

class Growers {
 public:
  Growers();
  // `stood`: the seconds so far in which the tree was stopped. They are no part of a process's life: whoever grew
  // until a pause is still the one that grows at its end.
  void see(const observe::Snapshot& snapshot, double stood = 0);
  // The process responsible for the growth, except ended ones and those in `spared`; null if there is none.
  // Growth below `matter` bytes is none: then it is the largest.
  const observe::Process* grower(const observe::Snapshot& snapshot, uint64_t matter,
                                 const std::vector<proc::ProcessId>& spared) const;
  // Bytes of growth as judged at the last look.
  uint64_t growth(const proc::ProcessId& id) const;

 private:
  // Low water of the whole life in at most 16 stretches: when they are full, neighbours join and each
  // stretch lasts twice as long.
  struct Life {
    proc::ProcessId id;
    double stretch = 1, stretch_begin = 0;
    uint64_t now = 0, held = 0;  // held: the most before the last two seconds
    std::array<uint64_t, 16> low{};
    size_t stretches = 0;
    std::array<uint64_t, 8> recent{};  // the most of each quarter second
    double quarter_begin = 0;
    void begin_at(double time, uint64_t bytes, bool from_before);
    void see(double time, uint64_t bytes);
    uint64_t growth() const;
  };
  std::vector<Life> lives_, next_;  // by id
  bool begun_ = false;
};

}  // namespace plimsoll::diagnose
