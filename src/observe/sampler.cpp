#include "observe/sampler.hpp"

#include <algorithm>

#include "base/mask.hpp"
#include "platform/clock.hpp"

namespace plimsoll::observe {
namespace {

// Processor time of this thread: what we spend, whoever else is running.
double spent() { return platform::processor_seconds(); }

uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

Sampler::Sampler(const proc::Files& files, ProcessTree tree, const SamplerOptions& options)
    : files_(files), tree_(std::move(tree)), options_(options), credit_(options.first_credit) {
  for (auto* processes : {&snapshot_.processes, &next_processes_}) processes->reserve(512);
  for (auto* tracked : {&tracked_, &next_tracked_}) tracked->reserve(512);
  snapshot_.ended.reserve(512), candidates_.reserve(512);
  text_.reserve(8192);
  if (options_.shared) held_files_ = std::make_unique<HeldFiles>(files);
  if (options_.gpu && options_.system) gpu_ = gpu::open_gpu();
}

const Snapshot& Sampler::sample(double now) {
  credit_ = std::min(credit_ + options_.pss_share * std::max(0.0, now - last_),
                     options_.pss_share * 60 + options_.first_credit);
  last_ = snapshot_.time = now;
  follow(now);
  near_ ? read_what_matters(now) : spend_budget(now);
  if (held_files_) measure_held(now);
  if (options_.system) read_system(now);
  total();
  return snapshot_;
}

const Snapshot& Sampler::sample_exactly(double now) {
  exactly_ = true;
  sample(now);
  exactly_ = false;
  return snapshot_;
}

void Sampler::follow(double now) {
  const auto& members = tree_.scan();
  next_processes_.clear();
  next_tracked_.clear();
  snapshot_.ended.clear();
  size_t at = 0;
  auto& before = snapshot_.processes;
  for (const proc::Stat& member : members) {
    while (at < before.size() && before[at].id < member.id) {
      moved_ += double(before[at].rss);
      snapshot_.ended.push_back(before[at++].id);
    }
    bool known = at < before.size() && before[at].id == member.id;
    if (known) {
      next_processes_.push_back(std::move(before[at]));
      next_tracked_.push_back(tracked_[at++]);
    } else {
      next_processes_.emplace_back().id = member.id;
      next_processes_.back().first_seen = now;
      next_tracked_.emplace_back();
    }
    proc::Stat stat = member;
    Tracked& tracked = next_tracked_.back();
    const uint64_t mapped = tracked.mapped, faults = tracked.faults;
    update(next_processes_.back(), tracked, stat);
    const double moved = known ? double(difference(tracked.mapped, mapped) +
                                        difference(tracked.faults, faults) * proc::page_size())
                               : double(next_processes_.back().rss);
    tracked.moved += moved;
    moved_ += moved;
  }
  while (at < before.size()) {
    moved_ += double(before[at].rss);
    snapshot_.ended.push_back(before[at++].id);
  }
  before.swap(next_processes_);
  running_ = size_t(
      std::count_if(before.begin(), before.end(), [](const Process& one) { return one.state == 'R'; }));
  tracked_.swap(next_tracked_);
}

void Sampler::update(Process& process, Tracked& tracked, proc::Stat& stat) {
  process.parent = stat.parent;
  process.state = stat.exiting && stat.state != 'Z' ? 'X' : stat.state;
  process.threads = stat.threads;
  process.cpu_seconds = double(stat.cpu_ticks) / proc::ticks_per_second();
  process.name = std::move(stat.name);
  process.pss_measured = false;
  tracked.faults = stat.faults;
  ++tracked.ticks;
  // statm sums the per-processor counters; the RSS of stat may be many pages off on a machine with many of
  // them.
  proc::Statm pages{stat.resident_pages, 0};
  if (process.zombie())
    pages = {};
  else if (files_.read(process.id.pid, "statm", text_, 256) == proc::Read::ok)
    if (auto read = proc::parse_statm(text_)) pages = *read;
  process.rss = pages.resident_pages * proc::page_size();
  tracked.mapped = std::min(pages.shared_pages, pages.resident_pages) * proc::page_size();
  tracked.anonymous = process.rss - tracked.mapped;
  constexpr uint64_t matter = 2 << 20;
  if (options_.shared && difference(tracked.mapped, tracked.mapped_at_shmem) >= matter)
    read_shared(process, tracked);
  estimate(process, tracked);
}

// Pages of shared memory count whole until PSS is read: they are most often the process's alone, unlike pages of files.
void Sampler::read_shared(Process& process, Tracked& tracked) {
  tracked.mapped_at_shmem = tracked.mapped;
  process.shmem = 0;
  if (!process.zombie() && files_.read(process.id.pid, "status", text_, 8192) == proc::Read::ok)
    process.shmem = std::min(proc::parse_status(text_).shmem, tracked.mapped);
}

void Sampler::measure_held(double now) {
  if (files_.read("meminfo", text_, 8192) != proc::Read::ok) return;
  const auto info = proc::parse_meminfo(text_);
  if (!info) return;
  constexpr uint64_t matter = 1 << 20;
  const bool moved = difference(info->shmem, shmem_then_) >= matter ||
                     (writes_files_ && processes_then_ != snapshot_.processes.size());
  if (!moved) writes_files_ = writes_files_ && now - held_then_ < 0.1;
  if (!moved || now - held_then_ < 4 * held_cost_) return;
  const double before = spent();
  writes_files_ =
      held_files_->measure(snapshot_.processes, [this](const Process& one) { return !may_block(one); });
  held_cost_ = spent() - before;
  held_then_ = now, shmem_then_ = info->shmem, processes_then_ = snapshot_.processes.size();
}

void Sampler::estimate(Process& process, const Tracked& tracked) const {
  const Reading& last = tracked.reading;
  if (process.zombie()) {
    process.owned = process.file = process.swap = process.private_bytes = process.shared = 0;
  } else if (process.pss_denied) {
    process.owned = tracked.anonymous + process.shmem;
    process.file = tracked.mapped;
  } else if (!last.taken) {
    // A fork begins with all pages of its parent and no fault of its own: what it has faulted in bounds what
    // is its own.
    process.owned = std::min(tracked.anonymous + process.shmem, tracked.faults * proc::page_size());
    process.file = 0;
  } else {
    const double shmem = double(process.shmem) - double(last.shmem);
    const double mapped = double(tracked.mapped) - double(last.mapped) - shmem;
    const double owned = double(last.owned) + (double(tracked.anonymous) - double(last.anonymous)) + shmem +
                         last.owned_share * mapped;
    process.owned = uint64_t(std::clamp(owned, 0.0, double(process.rss)));
    process.file =
        uint64_t(std::clamp(double(last.file) + last.file_share * mapped, 0.0, double(tracked.mapped)));
  }
}

// Reading PSS waits for the process's memory lock. Its holder may be any of its threads, in line for a processor behind
// the rest of a large tree: in a fork storm such a wait took 0.6 s, which a guard does not have.
bool Sampler::may_block(const Process& process) const {
  constexpr size_t crowd = 4;
  return options_.shared && process.state == 'R' && running_ > crowd;
}

double Sampler::urgency(const Process& process, const Tracked& tracked, double now) const {
  if (process.zombie()) return 0;
  const Reading& last = tracked.reading;
  double cost = last.taken ? last.cost : 50e-6 + double(process.rss) * (10e-3 / (1 << 30));
  if (!last.taken) return tracked.ticks > 1 || now < 1 || exactly_ ? (double(process.rss) + 1e6) / cost : 0;
  double touched = double((tracked.faults - std::min(tracked.faults, last.faults)) * proc::page_size());
  double error = double(difference(process.rss, last.resident)) + std::min(touched, double(process.rss)) +
                 std::min(others_moved(tracked), double(process.rss)) +
                 double(process.rss) * 5e-4 * (now - last.time);
  // Below this a reading would tell nothing new.
  return error < std::max(65536.0, 0.01 * double(process.rss)) && !exactly_ ? 0 : (error + 1) / cost;
}

bool Sampler::has_unread_child(const Process& process) const {
  for (size_t i = 0; i < tracked_.size(); ++i)
    if (!tracked_[i].reading.taken && snapshot_.processes[i].parent == process.id.pid &&
        !snapshot_.processes[i].zombie())
      return true;
  return false;
}

void Sampler::spend_budget(double now) {
  if (credit_ <= 0 && !exactly_) return;
  candidates_.clear();
  for (size_t i = 0; i < tracked_.size(); ++i)
    if (double value = urgency(snapshot_.processes[i], tracked_[i], now); value > 0)
      candidates_.emplace_back(value, i);
  std::sort(candidates_.rbegin(), candidates_.rend());
  for (auto [value, i] : candidates_) {
    if (credit_ <= 0 && !exactly_) return;  // the last reading may overdraw: later ticks pay it back
    // A fresh fork holds half of what its parent shares with it. Until it is read too, the parent's last
    // reading is the better one, or that half would be missing from the sum.
    if (may_block(snapshot_.processes[i])) continue;
    if (tracked_[i].reading.taken && !exactly_ && has_unread_child(snapshot_.processes[i])) continue;
    double before = spent();
    read_details(snapshot_.processes[i], tracked_[i], now);
    double cost = spent() - before;
    tracked_[i].reading.cost = cost;
    credit_ -= cost;
  }
}

// Bytes by which the estimate may be off.
double Sampler::uncertain(const Process& process, const Tracked& tracked) const {
  if (process.zombie() || process.pss_denied || may_block(process)) return 0;
  const Reading& last = tracked.reading;
  if (!last.taken) return double(tracked.anonymous - std::min(tracked.anonymous, process.owned));
  return double(difference(process.shmem, last.shmem)) +
         std::min(others_moved(tracked), double(process.shared));
}

void Sampler::read_what_matters(double now) {
  constexpr double matter = 1e6, most_seconds = 0.005;
  candidates_.clear();
  for (size_t i = 0; i < tracked_.size(); ++i)
    if (const double bytes = uncertain(snapshot_.processes[i], tracked_[i]);
        bytes >= matter && now - tracked_[i].reading.time >= 4 * tracked_[i].reading.cost)
      candidates_.emplace_back(bytes, i);
  std::sort(candidates_.rbegin(), candidates_.rend());
  const double began = spent();
  for (auto [bytes, i] : candidates_) {
    const double before = spent();
    if (before - began >= most_seconds) return;
    read_details(snapshot_.processes[i], tracked_[i], now);
    tracked_[i].reading.cost = spent() - before;
  }
}

void Sampler::read_details(Process& process, Tracked& tracked, double now) {
  int pid = process.id.pid;
  if (options_.arguments) {
    if (files_.read(pid, "cmdline", text_, 8192) == proc::Read::ok && !text_.empty())
      process.command = display_command(proc::parse_cmdline(text_));
    process.descriptors = files_.descriptors(pid);
  }
  Reading& reading = tracked.reading;
  proc::Smaps sum;
  proc::Read result = files_.smaps(pid, sum);
  reading.time = now;
  reading.resident = process.rss;
  reading.faults = tracked.faults;
  reading.others_moved = moved_ - tracked.moved;
  reading.anonymous = tracked.anonymous;
  reading.mapped = tracked.mapped;
  reading.shmem = process.shmem;
  if (result == proc::Read::ok) {
    process.pss_denied = false;
    process.pss_measured = reading.taken = true;
    // Without the split, what is resident and anonymous bounds what is owned.
    const uint64_t file = sum.pss_split ? std::min(sum.pss, sum.pss_file)
                                        : difference(sum.pss, std::min(sum.pss, tracked.anonymous));
    process.file = reading.file = file;
    process.owned = reading.owned = sum.pss - file;
    process.private_bytes = sum.private_bytes;
    process.shared = sum.shared;
    process.swap = sum.swap_pss ? sum.swap_pss : sum.swap;
    // Of the pages statm calls shared some are files' and some shared memory's; both go on as they were split. What
    // is owned beyond the anonymous pages is shared memory.
    const double mapped = std::max(double(tracked.mapped), 1.0);
    const uint64_t shared_memory = reading.owned - std::min(reading.owned, tracked.anonymous);
    reading.owned_share = std::min(1.0, double(shared_memory) / mapped);
    reading.file_share = std::min(1.0 - reading.owned_share, double(file) / mapped);
  } else if (result == proc::Read::denied) {
    process.pss_denied = reading.taken = true;  // asked again only as often as a reading
    if (files_.read(pid, "status", text_, 8192) == proc::Read::ok)
      process.swap = proc::parse_status(text_).swap;
    process.owned = tracked.anonymous;
    process.file = tracked.mapped;
  }
}

void Sampler::read_system(double now) {
  if (files_.read("meminfo", text_, 8192) == proc::Read::ok)
    if (auto info = proc::parse_meminfo(text_)) {
      snapshot_.system.total = info->total;
      snapshot_.system.available = info->available;
    }
  snapshot_.system.pressure = pressure::memory_pressure(files_);
  if (now >= next_limit_ && !snapshot_.processes.empty()) {
    next_limit_ = now + 10;
    snapshot_.system.limit = cgroup::limit_of(files_, snapshot_.processes.front().id.pid);
  }
  if (gpu_ && gpu_->present() && now >= next_gpu_) {
    next_gpu_ = now + 5;
    std::vector<int> pids;
    for (const Process& process : snapshot_.processes) pids.push_back(process.id.pid);
    const auto bytes = gpu_->memory_by_process(pids);
    for (Process& process : snapshot_.processes) {
      auto found = bytes.find(process.id.pid);
      process.gpu = found == bytes.end() ? 0 : found->second;
    }
  }
}

void Sampler::total() {
  snapshot_.bytes = snapshot_.file = snapshot_.rss = snapshot_.swap = snapshot_.private_bytes =
      snapshot_.shared = snapshot_.gpu = 0;
  snapshot_.denied = 0;
  uncertain_ = 0;
  if (options_.shared)
    for (size_t i = 0; i < tracked_.size(); ++i)
      uncertain_ += uint64_t(uncertain(snapshot_.processes[i], tracked_[i]));
  snapshot_.pss_measured = true;
  for (const Process& process : snapshot_.processes) {
    snapshot_.bytes += process.footprint();
    snapshot_.file += process.file;
    snapshot_.rss += process.rss;
    snapshot_.swap += process.swap;
    snapshot_.private_bytes += process.private_bytes;
    snapshot_.shared += process.shared;
    snapshot_.gpu += process.gpu;
    snapshot_.denied += process.pss_denied;
    snapshot_.pss_measured &= process.pss_measured || process.zombie();
  }
}

}  // namespace plimsoll::observe
