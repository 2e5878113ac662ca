// Finds the running process that looks most like training, judged by memory, CPU time, mapped libraries and
// children.
#pragma once
#include <string>
#include <vector>

#include "platform/proc.hpp"

namespace plimsoll::observe {

struct TrainingCandidate {
  int pid = 0;
  std::string name, command;  // escaped; the command masked
  uint64_t rss = 0;
  double cpu_share = 0;  // of one processor, over its life
  int children = 0;
  std::vector<std::string> libraries;  // those that speak for training
  double score = 0;
};

// Best first; empty where nothing looks like training. Leaves out this process and its ancestors.
std::vector<TrainingCandidate> find_training(const proc::Files& files);
// One line a candidate, the chosen one marked.
std::string describe_candidates(const std::vector<TrainingCandidate>& candidates);

}  // namespace plimsoll::observe
