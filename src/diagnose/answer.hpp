// One answer of four for a profiled tree: a series alone cannot tell a cache that fills from a leak, nor a leak from what
// an allocator keeps; epochs, sites and the classes of memory can. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heap/memory_classes.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// leak: it grows without end; filling: it grows, but what is held may be made once for each sample of a first epoch
// that is not over; retained: the program freed it, the allocator keeps it.
enum class Answer { leak, filling, retained, no_leak, undecided };
const char* answer_name(Answer answer);  // "leak", "filling", "retained", "no-leak", "undecided"

// Where the memory of the tree is; the parts add up to `pss`.
struct HeldMemory {
  uint64_t live_heap = 0;  // held by the program, with what the allocator rounds up and adds
  uint64_t retained = 0;   // freed by the program and kept by the allocator
  uint64_t mapped_file = 0, shared = 0, stack = 0, other = 0, pss = 0;
  uint64_t unprofiled = 0;  // of `other`: what processes without a heap file hold or have freed
  uint64_t unseen = 0;      // of `other`: what no allocator that is known has, such as the heap of V8 or Go
  uint64_t untouched = 0;   // that the program has asked for and never written to: it takes no memory
};
// What smaps said, at a moment the live heap was known.
HeldMemory held_memory(const heap::MemoryClasses& classes, uint64_t live_footprint);
// Of what a process has asked for, what it never wrote to: neither its own nor its shared memory has room for it.
uint64_t untouched(const heap::MemoryClasses& classes, uint64_t asked_for);
using MemoryReading = std::pair<double, HeldMemory>;  // with its time
// Of the last readings until then, the one at which the program held least: what it uses for a moment is neither lost nor
// freed. Of readings in the order of time, at least one.
const HeldMemory& held_least(std::span<const MemoryReading> readings, double until);

// The epochs a program reports, as numbers in any counting.
class Epochs {
 public:
  void see(int64_t number, double time);
  bool any() const { return first_.has_value(); }
  double begin() const { return begin_; }
  // When the first was over.
  std::optional<double> first_end() const { return first_end_; }
  // When enough of the second has passed to see whether growth goes on.
  std::optional<double> tells_at() const;
  // Whether this is in the time after the first, no longer than it was.
  bool second(double time) const { return first_end_ && time < 2 * *first_end_ - begin_; }

 private:
  std::optional<int64_t> first_;
  double begin_ = 0;
  std::optional<double> first_end_;
};

// A sample that is alive: when it was allocated, and how many bytes it stands for.
struct Birth {
  double time = 0, bytes = 0;
  bool certain = false;  // so large a block is always sampled: it stands for itself
};

// What is known of one line of source.
struct HeldLine {
  std::string name;
  std::span<const verdict::Sample> held;  // bytes over time
  verdict::Kind kind = verdict::Kind::undecided;
  double rate = 0, grown = 0;        // bytes a second, bytes: see Site
  double onset = 0;                  // seconds, when its growth began
  bool none_freed = false;           // nothing of it was ever given back
  bool kernel_cache = false;         // one compiled kernel for each shape of input: it has a bound
  std::span<const Birth> born = {};  // while running: what is alive of it
  double most_of_first = 0;          // bytes of the first epoch that were alive at any look since it ended
  size_t processes_kept = 0;         // that it starts again and again; 0: it does not
  bool replaced = false;             // see Site
};

struct Evidence {
  const verdict::Verdict& tree;
  const Epochs& epochs;
  std::vector<HeldLine> lines = {};  // the fastest growing first
  double live_rate = 0;              // bytes a second, all lines that grow
  double sample_bytes = 512 << 10;   // what one sample stands for
  // While running and without epochs: how long a line must have grown to be no cache that fills, in seconds.
  double patience = 0;
  // While running: what was allocated after this may still be given back; and how far the program was when.
  double settled = 0;
  std::span<const verdict::StepMark> steps = {};
  std::optional<HeldMemory> before = {}, now = {};
  // The line that was called a leak while the program ran, when it was known what is alive of each epoch.
  std::string called = {};
};

struct Answered {
  Answer answer = Answer::undecided;
  std::string reason;  // one sentence; the name of the line is not escaped
  // Which of the lines it is about; nullopt: the tree as a whole.
  std::optional<size_t> line = {};
};
Answered answer(const Evidence& evidence);

}  // namespace plimsoll::diagnose
