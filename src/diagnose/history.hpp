// The history of every process during a watch in bounded memory: a thinned series for each, sums for groups
// of similar siblings, and only counts for short-lived processes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "observe/process.hpp"
#include "verdict/series.hpp"

namespace plimsoll::diagnose {

struct Lifetime {
  proc::ProcessId id;
  int parent = 0;  // at first sight: where it came from, not who adopted it
  std::string name, command;
  int group = -1;  // index into History::groups()
  double first = 0, last = 0;
  bool ended = false;
  uint64_t samples = 0;
  verdict::Series series{512};  // footprint
  // Latest values.
  uint64_t bytes = 0, rss = 0, shared = 0, peak = 0;
  double cpu_begin = 0, cpu_end = 0;
  int threads = 0, descriptors = -1;
  char state = '?';
  bool pss_denied = false;
  double life() const { return last - first; }
  double cpu() const { return cpu_end - cpu_begin; }
};

// Children of one parent with one name: what a pool of workers is made of.
struct Group {
  int parent = 0;
  std::string name;
  size_t alive = 0, most_alive = 0, ever = 0;
  uint64_t bytes = 0;
  std::unique_ptr<verdict::Series> series;  // of the sum; from the moment two were alive at once
};

class History {
 public:
  void add(const observe::Snapshot& snapshot);

  const std::map<proc::ProcessId, Lifetime>& processes() const { return processes_; }
  const std::vector<Group>& groups() const { return groups_; }
  double first_time() const { return first_; }
  double last_time() const { return last_; }
  // Came and went within a few samples; kept by number only.
  uint64_t short_lived() const { return short_lived_; }
  const std::map<std::string, uint64_t>& short_lived_names() const { return short_lived_names_; }

 private:
  int group_of(int parent, const std::string& name);
  void end(const proc::ProcessId& id);
  void forget_some();

  std::map<proc::ProcessId, Lifetime> processes_;
  std::vector<Group> groups_;
  std::map<std::pair<int, std::string>, int> group_index_;
  std::map<std::string, uint64_t> short_lived_names_;
  uint64_t short_lived_ = 0;
  size_t ended_kept_ = 0;
  double first_ = 0, last_ = 0;
  bool begun_ = false;
};

}  // namespace plimsoll::diagnose
