// Which source lines hold the memory, and which of them grow: the sites of a profiled tree, each judged by
// the function that gives every verdict.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/places.hpp"
#include "heap/collector.hpp"
#include "heap/memory_classes.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// A line of source in one process and what it holds. Texts are not escaped.
struct Site {
  int pid = 0;
  Place place;
  std::string source;  // the text of the line; empty where it cannot be read
  uint64_t bytes = 0, blocks = 0;
  double oldest_seconds = 0;
  bool none_freed = false;
  double rate = 0;   // bytes a second
  double share = 0;  // of the growth of all sites, 0..1
  verdict::Verdict verdict;
  std::vector<Place> stack;  // of the largest part, innermost first
};

// One stack, for records and exports.
struct HeldStack {
  int pid = 0;
  std::vector<Place> stack;  // innermost first
  uint64_t bytes = 0, blocks = 0, allocated_bytes = 0, allocated_blocks = 0;
  double rate = 0;  // bytes a second over the time seen
};

// Where the memory of the tree is; the parts add up to `pss`.
struct HeldMemory {
  uint64_t live_heap = 0;  // held by the program, with what the allocator rounds up and adds
  uint64_t retained = 0;   // freed by the program and kept by the allocator
  uint64_t mapped_file = 0, shared = 0, stack = 0, other = 0, pss = 0;
};

// leak: it grows without end; filling: it grows, but what is held was made once for each sample of a first pass that
// is not over; retained: the program freed it, the allocator keeps it.
enum class Answer { leak, filling, retained, no_leak, undecided };
const char* answer_name(Answer answer);  // "leak", "filling", "retained", "no-leak", "undecided"

struct SiteReport {
  std::vector<Site> sites;        // the fastest growing first, then the largest
  std::vector<HeldStack> stacks;  // the largest first
  std::optional<HeldMemory> memory;
  uint64_t live_bytes = 0;  // of all sites
  double live_rate = 0;     // their growth, bytes a second
  Answer answer = Answer::undecided;
  std::string reason;  // of the answer, one sentence
  std::vector<std::string> notes;
};

struct SiteOptions {
  double until = 0;  // seconds; later looks are not judged
  size_t most_sites = 40, most_stacks = 2000;
};

// Sites of all processes, judged. Reads source files, symbols and nothing else.
SiteReport judge_sites(const heap::Collector& collector, heap::Symbols& symbols, const SiteOptions& options);

// What smaps of a process said, at a moment its live heap was known.
HeldMemory held_memory(const heap::MemoryClasses& classes, uint64_t live_footprint);

// The answer of the four, from the verdict on the tree and what the sites say.
struct EpochsSeen {
  bool any = false;       // the program says where its epochs begin
  double first_end = -1;  // seconds; when the first was over, negative: not yet
};
void answer(SiteReport& report, const verdict::Verdict& tree, const EpochsSeen& epochs,
            const std::optional<HeldMemory>& before);

}  // namespace plimsoll::diagnose
