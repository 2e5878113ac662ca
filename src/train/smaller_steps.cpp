#include "train/smaller_steps.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {

std::vector<ProgramOptions> smaller_steps(const Settings& settings, int vocab, Way way, double factor,
                                          size_t most) {
  std::vector<ProgramOptions> steps;
  auto add = [&] { steps.push_back(program_options(settings, vocab, way)); };
  // As many lanes: more of them would take what fewer windows give.
  while (way.micro_batch > 1) {
    way.micro_batch = std::clamp(static_cast<int>(way.micro_batch * factor), 1, way.micro_batch - 1);
    while (settings.batch % way.micro_batch) --way.micro_batch;
    add();
  }
  // Leaves that nobody asked for are given up with their lanes.
  if (settings.leaves == 0) way.leaves = 0;
  if (std::exchange(way.lanes, 1) > 1) add();
  way.recompute = {Recompute::blocks, settings.layers};
  way.loss_rows = way.loss_rows > 0 ? std::min(way.loss_rows, 32) : 32;
  add();
  if (steps.size() <= most) return steps;
  std::vector<ProgramOptions> few;
  for (size_t i = 0; i < most; ++i) few.push_back(steps[most == 1 ? 0 : i * (steps.size() - 1) / (most - 1)]);
  return few;
}

}  // namespace plimsoll
