// Samples a process tree: RSS of every process at every call, PSS as often as its time budget allows.
//
//   proc::Files files;
//   Sampler sampler(files, ProcessTree(files, pid, false), {});
//   const Snapshot& now = sampler.sample(seconds);   // valid until the next call
//
// PSS makes the kernel walk the target's page tables (about 10 ms per GiB of small pages) while it holds the
// memory lock, so readings go where the last one is most out of date for its cost: most page faults and RSS
// change since, then age.
#pragma once
#include <memory>
#include <vector>

#include "observe/held_files.hpp"
#include "observe/process.hpp"
#include "observe/tree.hpp"
#include "platform/gpu.hpp"

namespace plimsoll::observe {

struct SamplerOptions {
  double pss_share = 0.005;     // of the time, spent on reading PSS and other details
  double first_credit = 0.050;  // seconds that may be spent at once at the start
  bool gpu = true;
  bool system = true;     // limits, pressure and GPU memory of the machine
  bool shared = false;    // shared memory as it grows, and memory in files; see near()
  bool arguments = true;  // each process's command line and open files; reading them allocates
};

class Sampler {
 public:
  Sampler(const proc::Files& files, ProcessTree tree, const SamplerOptions& options);

  const Snapshot& sample(double now);
  // Reads every PSS regardless of the cost; for the sample that ends a watch or must be exact.
  const Snapshot& sample_exactly(double now);
  // Near a line the tree's sum decides: from now on every PSS that may be wrong by much is read, whatever the budget,
  // for a few milliseconds of each sample.
  void near(bool near) { near_ = near; }
  // Bytes by which the sum of the last sample may be too small.
  uint64_t uncertain() const { return uncertain_; }
  // Whether the tree has just written to files that are memory: those it closes soon are seen only if looked for often.
  bool writes_files() const { return writes_files_; }
  const Snapshot& latest() const { return snapshot_; }
  ProcessTree& tree() { return tree_; }
  const ProcessTree& tree() const { return tree_; }
  const gpu::Gpu* gpu() const { return gpu_.get(); }

 private:
  // What the last reading of a process found, to carry its PSS on from.
  struct Reading {
    bool taken = false;
    double time = 0, cost = 0;  // seconds; cost of the last reading
    uint64_t owned = 0, file = 0, resident = 0, anonymous = 0, mapped = 0, shmem = 0, faults = 0;
    // Which part of a byte more in file and shared-memory pages counts as owned, and which as of files.
    double owned_share = 0, file_share = 1;
    double others_moved = 0;
  };
  struct Tracked {
    uint64_t anonymous = 0, mapped = 0, faults = 0;
    uint64_t mapped_at_shmem = 0;  // `mapped` when shared memory was last read
    double moved = 0;  // bytes of pages that may be shared and that it mapped, touched or gave up so far
    unsigned ticks = 0;
    Reading reading;
  };
  void follow(double now);
  void update(Process& process, Tracked& tracked, proc::Stat& stat);
  void read_details(Process& process, Tracked& tracked, double now);
  void spend_budget(double now);
  void read_what_matters(double now);
  bool may_block(const Process& process) const;
  double uncertain(const Process& process, const Tracked& tracked) const;
  void read_shared(Process& process, Tracked& tracked);
  void measure_held(double now);
  double urgency(const Process& process, const Tracked& tracked, double now) const;
  // What the rest of the tree moved since this process was read: its PSS changes with that, its RSS does not.
  double others_moved(const Tracked& tracked) const {
    return moved_ - tracked.moved - tracked.reading.others_moved;
  }
  bool has_unread_child(const Process& process) const;
  void estimate(Process& process, const Tracked& tracked) const;
  void read_system(double now);
  void total();

  const proc::Files& files_;
  ProcessTree tree_;
  SamplerOptions options_;
  std::unique_ptr<gpu::Gpu> gpu_;
  Snapshot snapshot_;
  std::vector<Tracked> tracked_;  // beside snapshot_.processes
  std::vector<Process> next_processes_;
  std::vector<Tracked> next_tracked_;
  std::vector<std::pair<double, size_t>> candidates_;
  std::string text_;
  double credit_, last_ = 0, next_limit_ = 0, next_gpu_ = 0;
  std::unique_ptr<HeldFiles> held_files_;
  uint64_t shmem_then_ = 0;  // of the machine when the held files were measured
  uint64_t uncertain_ = 0;
  size_t processes_then_ = 0, running_ = 0;
  double held_then_ = -1e9, held_cost_ = 0;
  bool near_ = false, writes_files_ = false;
  double moved_ = 0;  // of the whole tree, the ended included
  bool exactly_ = false;
};

}  // namespace plimsoll::observe
