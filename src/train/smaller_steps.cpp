#include "train/smaller_steps.hpp"

#include <algorithm>

#include "train/runtime.hpp"

namespace plimsoll {

std::vector<ProgramOptions> smaller_steps(const Settings& settings, int vocab, double factor, size_t most) {
  Settings way = settings;
  std::vector<ProgramOptions> steps;
  const ProgramOptions whole = program_options(settings, vocab);
  way.micro_batch = static_cast<int>(whole.batch);
  way.lanes = whole.lanes;  // more of them would take what fewer windows give
  while (way.micro_batch > 1) {
    way.micro_batch = std::clamp(static_cast<int>(way.micro_batch * factor), 1, way.micro_batch - 1);
    while (settings.batch % way.micro_batch) --way.micro_batch;
    steps.push_back(program_options(way, vocab));
  }
  way.lanes = 1;
  if (whole.lanes > 1) steps.push_back(program_options(way, vocab));
  way.recompute = recompute_text({Recompute::blocks, settings.layers});
  way.loss_rows = way.loss_rows > 0 ? std::min(way.loss_rows, 32) : 32;
  steps.push_back(program_options(way, vocab));
  if (steps.size() <= most) return steps;
  std::vector<ProgramOptions> few;
  for (size_t i = 0; i < most; ++i) few.push_back(steps[most == 1 ? 0 : i * (steps.size() - 1) / (most - 1)]);
  return few;
}

}  // namespace plimsoll
