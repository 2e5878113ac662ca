// Which source lines hold the memory, and which of them grow: the sites of a profiled tree, each judged by
// the function that gives every verdict.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/answer.hpp"
#include "diagnose/kept_processes.hpp"
#include "diagnose/outside.hpp"
#include "diagnose/places.hpp"
#include "diagnose/traits.hpp"
#include "heap/collector.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// A line of source and what it holds, in all processes together. Texts are not escaped.
struct Site {
  std::vector<int> pids;  // the one that holds most first
  Place place;
  std::string source;  // the text of the line; empty where it cannot be read
  uint64_t bytes = 0, blocks = 0;
  double grown = 0;  // bytes by which what it always holds has risen; what comes and goes is not in it
  double oldest_seconds = 0;
  bool none_freed = false;
  bool replaced = false;  // all of it is young, and there is no more of it than before: see turnover.hpp
  double rate = 0;        // bytes a second
  double share = 0;       // of the growth of all sites, 0..1
  verdict::Verdict verdict;
  std::vector<verdict::Sample> held;          // bytes over time
  std::vector<Birth> born;                    // what is alive of it, where that was asked for
  std::vector<Place> stack;                   // of the largest part, innermost first
  Content content = Content::plain;           // kernel_cache: all of it; else see the next two
  uint64_t graph_bytes = 0, image_bytes = 0;  // of the bytes: nodes of autograd, decoded images
  Worker worker = Worker::none;
  bool grows_by_processes = false;              // more and more processes hold it, none of them ever more
  std::optional<KeptProcesses> processes_kept;  // that it starts; what they own is in `bytes` and `grown`
  std::string hint;                             // what to try; empty: nothing to say
};

// One stack, for records and exports.
struct HeldStack {
  int pid = 0;
  std::vector<Place> stack;  // innermost first
  uint64_t bytes = 0, blocks = 0, allocated_bytes = 0, allocated_blocks = 0;
  double rate = 0;  // bytes a second over the time seen
};

struct SiteReport {
  std::vector<Site> sites;        // the fastest growing first, then the largest
  std::vector<HeldStack> stacks;  // the largest first
  std::optional<HeldMemory> memory;
  uint64_t live_bytes = 0;  // of all sites
  double live_rate = 0;     // their growth, bytes a second
  Answer answer = Answer::undecided;
  std::string reason;                 // of the answer, one sentence; not escaped
  std::optional<size_t> answer_site;  // which of the sites it is about
  std::vector<std::string> notes;
  // Where the processes ran before: what was seen from outside.
  const Outside* outside = nullptr;
};

struct SiteOptions {
  double until = 0;  // seconds; later looks are not judged
  double from = 0;   // earlier ones neither: the program started up
  size_t most_sites = 40, most_stacks = 2000;
  bool own_names_only = false;  // quick, while the program runs: see Places
  bool verdicts = true;         // judge each line
  bool births = false;          // while the program runs: tell when what is alive was allocated
  bool freed_stacks = false;    // list stacks that hold nothing but have allocated much as well
  double sample_bytes = 512 << 10;
  const std::map<int, uint64_t>* footprints = nullptr;  // what each process owned when last seen
};

// Sites of all processes, judged. Reads source files, symbols and nothing else. Without symbols native frames have no
// names, and lines of Python are all there.
SiteReport judge_sites(const heap::Collector& collector, heap::Symbols* symbols, const SiteOptions& options);

// Shares, the rate of all and the order of the sites, from their rates.
void put_in_order(SiteReport& report);

// The looks at that time and later; all of them where there are none.
std::span<const verdict::Sample> since(std::span<const verdict::Sample> held, double time);

// The least that was held in the last twentieth of the samples over the least of the first twentieth.
double low_water_growth(std::span<const verdict::Sample> held);

// The site that most exceeds what it ever held until half a minute before `since` (of a shorter life, its first half),
// and by how many bytes; null where none does. Unlike a verdict this needs no time: it names what grew suddenly too.
struct Grown {
  const Site* site = nullptr;
  double bytes = 0;
};
Grown grown_most(const SiteReport& report, double since);

// What to do about growth whose sites are known, in one line; names are escaped.
std::string next_with_sites(const SiteReport& report);

}  // namespace plimsoll::diagnose
