// What the measured memory of a training run is made of: the roles of its plan, the gaps between values, and the process beside the
// plan. The parts add up to what was measured last.
#pragma once
#include <string>
#include <vector>

#include "report/run_data.hpp"

namespace plimsoll::report {

struct MemoryPart {
  std::string name;
  int64_t bytes;
};
// Largest first, the process last; empty without a plan or where less than the plan was measured.
std::vector<MemoryPart> memory_parts(const RunData& data);
// "image buffer 48.0 MB + … = 119.2 MB measured"; empty as above.
std::string memory_sum(const RunData& data);

}  // namespace plimsoll::report
