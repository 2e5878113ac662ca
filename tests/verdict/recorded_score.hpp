// Scores the verdict and the public rules on recorded runs of real programs.
#pragma once
#include <string>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

struct RecordedOptions {
  bool verbose = false;              // a line a run
  bool final_only = false;           // without the replay of what was said while it ran
  double patience = usual_patience;  // seconds
};

void score_recorded(const std::string& path, const RecordedOptions& options);

}  // namespace plimsoll::verdict
