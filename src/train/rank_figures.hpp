// What each rank of a run holds, gathered by rank 0: its plan before step 1, what its process showed at the end.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/plan.hpp"
#include "train/prepare.hpp"

namespace plimsoll {

struct RankFigures {
  std::array<char, 64> host{};
  uint64_t plan_bytes = 0;
  std::array<uint64_t, role_count> by_role{};
  uint64_t rss_after_warmup = 0, rss_peak = 0;  // 0: not known yet
};

// On all ranks at once; the figures of all of them, in their order, on rank 0. Nothing where there is one rank.
std::vector<RankFigures> collect_figures(const PreparedRun& run, uint64_t rss_after_warmup = 0,
                                         uint64_t rss_peak = 0);
// "Ranks: 2 by Open MPI v4.1.4 | 4 leaves" and the plan of each, a line each; of many, those with the least and the most.
std::vector<std::string> describe_ranks(const PreparedRun& run, const std::vector<RankFigures>& figures);

}  // namespace plimsoll
