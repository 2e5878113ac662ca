// The verdict on a watched tree, and which process or pool is responsible for the growth.
#pragma once
#include <vector>

#include "diagnose/history.hpp"
#include "diagnose/roles.hpp"
#include "verdict/judgement.hpp"

namespace plimsoll::diagnose {

struct Judgement : verdict::Judgement {
  proc::ProcessId culprit_id;  // where there is a culprit; of a pool the member that grows fastest
  Roles roles;
};

// `tree` is the footprint of the whole tree; what came after `until` (the program was ending) is left out.
Judgement judge_tree(const verdict::Series& tree, const History& history, const verdict::Options& options,
                     double until);

// Theil-Sen slope of the low water of a dozen stretches between two times; bytes a second, 0 where there is
// too little.
double floor_slope(const verdict::Series& series, double from, double until);

}  // namespace plimsoll::diagnose
