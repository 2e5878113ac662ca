// The verdict on a watched tree, and which process or pool is responsible for the growth.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "diagnose/history.hpp"
#include "diagnose/roles.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

struct Culprit {
  proc::ProcessId id;  // of a pool: its first member
  bool pool = false;
  std::string name;  // escaped
  ProcessRole role = ProcessRole::main;
  double share = 0;  // of the tree's growth, 0..1
  double rate = 0;   // its own growth in bytes per second
};

struct Judgement {
  verdict::Verdict verdict;  // its sentence names the culprit
  std::optional<Culprit> culprit;
  Roles roles;
};

// `tree` is the footprint of the whole tree; what came after `until` (the program was ending) is left out.
Judgement judge_tree(const verdict::Series& tree, const History& history, const verdict::Options& options,
                     double until);

// Theil-Sen slope of the low water of a dozen stretches between two times; bytes a second, 0 where there is
// too little.
double floor_slope(const verdict::Series& series, double from, double until);

}  // namespace plimsoll::diagnose
