// Memory as an input: picks, among the ways to compute the same step, the fastest whose whole process stays below a
// line. Which one is fastest is read from a table of speeds, not measured: the same command always chooses the same way.
//
//   Way way = choose(settings, vocab, threads, budget, overhead);   // InputError naming the least budget that would do
//   way.seconds * slowness(settings)                                        // what a step should take on this machine
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/way.hpp"

namespace plimsoll {

// How many times longer this machine takes than the table says, measured in some milliseconds with products of the model's
// size on all threads; for predicting, never for choosing.
double slowness(const Settings& settings);
// Turns seconds at the speed of the table into those of this machine, its disk included where weights are streamed.
void predict(std::span<Way> ways, const Settings& settings);

// What the process takes besides the plan: code, libraries, stacks, the record's heap. `now` is resident before the
// plan is mapped. Rounded up in steps, so that the same command finds the same figure again.
uint64_t process_overhead(uint64_t now);

// What to give instead of a run that is too large.
const char* smaller_run(const Settings& settings);

// Every way worth considering, fastest first, with its bytes and seconds.
std::vector<Way> ways(const Settings& settings, int vocab, int threads);
// `stated_way` with its bytes and seconds.
Way unconstrained(const Settings& settings, int vocab, int threads);
// The least bytes any way needs, without looking at all of them.
Way smallest(const Settings& settings, int vocab, int threads);
// The fastest way whose plan and `overhead` are at most `budget`; InputError with the least budget otherwise. Settings
// that leave nothing to choose, as those of a resumed run do, keep their way if it fits.
Way choose(const Settings& settings, int vocab, int threads, uint64_t budget, uint64_t overhead);

// The curve of memory against time; `ways` hold predicted seconds.
std::string sweep_svg(const std::vector<Way>& ways, uint64_t overhead);

}  // namespace plimsoll
