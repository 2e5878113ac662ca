// What each rank of a run holds, gathered by rank 0: its plan before step 1, what its process showed at the end.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/plan.hpp"
#include "train/prepare.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll {

struct RankFigures {
  std::array<char, 64> host{};
  uint64_t plan_bytes = 0, process_bytes = 0;  // the plan, and what the process should show
  std::array<uint64_t, role_count> by_role{};
  // What is known at the end; 0 before.
  struct Ended {
    uint64_t rss_after_warmup = 0, rss_peak = 0;
    double step_seconds = 0;                   // mean, of all that the loop does
    ranks::Communicator::Tally exchange = {};  // of a step
    double leak_rate = 0;                      // bytes a second where its memory leaks
    std::array<char, 400> leak{};              // and what its verdict says
  } ended;
};

// On all ranks at once; the figures of all of them, in their order, on rank 0. Nothing where there is one rank.
std::vector<RankFigures> collect_figures(const PreparedRun& run, const RankFigures::Ended& ended = {});
// "Ranks: 2 by Open MPI v4.1.4 | 4 leaves" and the plan of each, a line each; of many, those with the least and the most.
std::vector<std::string> describe_ranks(const PreparedRun& run, const std::vector<RankFigures>& figures);
// The verdict on all ranks, seen from rank 0, whose own is given: where others leak, on the one that leaks fastest.
verdict::Verdict worst_verdict(const verdict::Verdict& own, const std::vector<RankFigures>& figures);
// At the end: who had the highest peak, and what the exchange took, as means over the ranks.
std::string describe_ended(const std::vector<RankFigures>& figures);

}  // namespace plimsoll
