// Memory as an input: picks, among the ways to compute the same step, the fastest whose whole process stays below a
// line. The ways differ in micro-batch and lanes, in what the backward pass makes again, in rows of logits held at once, and in
// whether a checkpoint is copied before it is written.
//
//   Way way = choose(settings, vocab, threads, budget, speed);   // InputError naming the least budget that would do
//   apply(way, settings);                                        // from here on the settings say it
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "train/settings.hpp"

namespace plimsoll {

// How fast this machine is, measured in a few milliseconds; for predicting, not for promising.
struct Speed {
  double products = 0;  // floating-point operations a second of one thread's matrix products
  double others = 0;    // "work" a second of one thread's other nodes
};
Speed measure_speed(const std::string& isa);

struct Way {
  int micro_batch = 1, lanes = 1;
  RecomputeChoice recompute{Recompute::nothing, 0};
  int loss_rows = 0;
  bool staging = true;
  uint64_t plan_bytes = 0;
  double seconds = 0;  // predicted for one step

  std::string text() const;  // "micro-batch 4, recompute cheap, background checkpoints"
};

// What the process takes besides the plan: code, libraries, stacks, the record's heap. `now` is resident before the
// plan is mapped. Rounded up in steps, so that the same command finds the same figure again.
uint64_t process_overhead(uint64_t now);

// Every way worth considering, fastest first.
std::vector<Way> ways(const Settings& settings, int vocab, int threads, const Speed& speed);
// The way the settings mean where no line is drawn.
Way unconstrained(const Settings& settings, int vocab, int threads, const Speed& speed);
// The least bytes any way needs, without looking at all of them.
Way smallest(const Settings& settings, int vocab, int threads, const Speed& speed);
// The fastest way whose plan is at most `bytes`; InputError with the least budget (plan and overhead) otherwise.
Way choose(const Settings& settings, int vocab, int threads, uint64_t budget, uint64_t overhead,
           const Speed& speed);

void apply(const Way& way, Settings& settings);

// The curve of memory against predicted time.
std::string sweep_svg(const std::vector<Way>& ways, uint64_t overhead);

}  // namespace plimsoll
