// Memory as an input: picks, among the ways to compute the same step, the fastest whose whole process stays below a
// line. Which one is fastest is read from a table of speeds, not measured: the same command always chooses the same way.
//
//   Way way = choose(settings, vocab, threads, budget, overhead);   // InputError naming the least budget that would do
//   predict({&way, 1}, settings);                                  // way.seconds: what a step should take on this machine
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/way.hpp"

namespace plimsoll {

// Turns seconds at the speed of the table into those of this machine, its disk included where weights are streamed.
void predict(std::span<Way> ways, const Settings& settings);

// What the process holds before its plan is mapped, in bytes. All but `resident` are the same whenever the same command runs.
struct ProcessMemory {
  uint64_t resident;
  uint64_t code;  // of the program and its libraries in the address space
  uint64_t heap;  // malloc's
  uint64_t data;  // of files that stay in memory
};
ProcessMemory process_memory();
// What it will take besides the plan and what is counted with a way: code that is run, heap, data, the record, stacks. The same
// command finds the same figure again unless more is resident already than is usual.
uint64_t process_overhead(const ProcessMemory& now);
inline uint64_t process_overhead() { return process_overhead(process_memory()); }
// With what decoding pictures adds, where the model of the settings looks at them.
uint64_t process_overhead(const Settings& settings);
// The same seen by a command that only plans the run: training has some more small things on the heap when it asks, and a line
// that is enough here must be enough there.
uint64_t planned_overhead(const Settings& settings);

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
