#include "diagnose/sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/mask.hpp"
#include "base/units.hpp"
#include "diagnose/hints.hpp"
#include "diagnose/judgement.hpp"
#include "diagnose/source.hpp"
#include "diagnose/turnover.hpp"
#include "verdict/series.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr uint64_t small = 64 << 10;       // what holds less than one sample in eight is not looked at
constexpr double stands_for_itself = 1.1;  // of its size: blocks like it are sampled nine times in ten
constexpr uint64_t much_allocated = 1 << 20;
constexpr double moments_of_an_end = 3;  // seconds: processes of a tree do not end all at once
constexpr double part_of_a_life = 0.1;

// What one process holds at a line.
struct Part {
  const heap::Profiled* process;
  std::vector<double> bytes;  // at each of the process's times
  uint64_t held_bytes = 0, held_blocks = 0, oldest = 0;
  bool none_freed = true;
};

// The sites of all processes that name the same line.
struct Line {
  Place place;
  std::vector<Part> parts;
  std::vector<Place> stack;
  float largest = -1;
  std::vector<verdict::Sample> held;
  std::vector<Birth> born;
  Content content = Content::plain;
  uint64_t graph_bytes = 0, image_bytes = 0;
};

// The tree went on without this process: what it held was given back. Where they end together, it is what they held.
bool left_before(const heap::Profiled& process, double until) {
  const double life = process.last_seen - process.first_seen;
  return process.ended && process.last_seen + std::max(moments_of_an_end, part_of_a_life * life) < until;
}

// The sum over the processes, at every time one of them was looked at, or any of the tree after one of them had left it. What
// a process holds that ends by itself is not judged beyond the moment it was last seen at work.
std::vector<verdict::Sample> summed(const Line& line, std::span<const double> looks, double until) {
  double last = 0, left = until;
  std::vector<double> times;
  for (const Part& part : line.parts) {
    const bool gone = left_before(*part.process, until);
    last = std::max(last, part.process->ended && !gone ? part.process->held_time : until);
    if (gone) left = std::min(left, part.process->last_seen);
    const auto& own = part.process->series.times();
    times.insert(times.end(), own.begin(), own.end());
  }
  if (left < until) {
    times.insert(times.end(), std::upper_bound(looks.begin(), looks.end(), left), looks.end());
    times.push_back(until);
  }
  if (line.parts.size() > 1 || left < until) {
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
  }
  until = std::min(until, last);
  std::vector<verdict::Sample> sum;
  for (const double time : times)
    if (time <= until) sum.push_back({time, 0});
  for (const Part& part : line.parts) {
    const auto& own = part.process->series.times();
    size_t next = 0;
    for (verdict::Sample& sample : sum) {
      while (next < own.size() && own[next] <= sample.time) ++next;
      const bool gone = part.process->ended && sample.time > part.process->held_time;
      if (next > 0 && !gone) sample.bytes += part.bytes[next - 1];
    }
  }
  return sum;
}

double mean_growth(const std::vector<verdict::Sample>& held) {
  const size_t part = std::max<size_t>(1, held.size() / 4);
  const auto mean = [&](size_t from) {
    double sum = 0;
    for (size_t i = from; i < from + part; ++i) sum += held[i].bytes;
    return sum / double(part);
  };
  return held.empty() ? 0 : mean(held.size() - part) - mean(0);
}

// Bytes a second from the first look to the last before `until`.
double rate_between(std::span<const float> bytes, const std::vector<double>& times, double until) {
  size_t last = times.size();
  while (last > 0 && times[last - 1] > until) --last;
  if (last < 2 || times[last - 1] <= times.front()) return 0;
  const double end = last <= bytes.size() ? bytes[last - 1] : 0, begin = bytes.empty() ? 0 : bytes.front();
  return (end - begin) / (times[last - 1] - times.front());
}

// Most of what the sum gained came with new processes, whose own part stands still.
bool grows_by_processes(const Line& line, double grown) {
  size_t living = 0;
  double by_themselves = 0;
  for (const Part& part : line.parts) {
    living += !part.process->ended || part.held_bytes > 0;
    // What it frees while it ends is no part of its life.
    const auto& times = part.process->series.times();
    const double end = part.process->ended ? part.process->held_time : times.back();
    const size_t looks = size_t(std::upper_bound(times.begin(), times.end(), end) - times.begin());
    // The first quarter of its life a process is allowed to fill up.
    if (looks > 0) by_themselves += std::max(0.0, part.bytes[looks - 1] - part.bytes[looks / 4]);
  }
  return living >= 3 && grown > 0 && by_themselves < 0.25 * grown;
}

class Lines {
 public:
  Lines(const SiteOptions& options, const heap::Collector& collector) : options_(options) {
    for (const auto& process : collector.processes()) {
      if (!root_ ||
          std::pair(process->first_seen, process->number) < std::pair(root_->first_seen, root_->number))
        root_ = process.get();
      const auto& times = process->series.times();
      looks_.insert(looks_.end(), times.begin(), times.end());
    }
    std::sort(looks_.begin(), looks_.end());
    looks_.erase(std::unique(looks_.begin(), looks_.end()), looks_.end());
  }

  void add(const heap::Profiled& process, heap::Symbols* symbols, SiteReport& report) {
    Places places(*process.reader, symbols, options_.own_names_only);
    std::map<uint32_t, const heap::LiveSite*> held;
    for (const heap::LiveSite& live : process.held) held[live.site] = &live;
    const auto& totals = process.reader->sites();
    for (uint32_t site = 1; site < totals.size(); ++site) {
      const bool much = options_.freed_stacks && totals[site].bytes >= much_allocated;
      if (process.series.peak(site) < float(small) && !much) continue;
      const auto live = held.find(site);
      add_site(process, site, live == held.end() ? nullptr : live->second, places.stack(site), report);
    }
    if (options_.births && !process.ended) add_births(process);
    line_of_site_.clear();
  }

  // Those that grew most are judged; what stands still needs no verdict of its own.
  std::vector<Site> judged() {
    std::vector<std::pair<double, Line*>> order;
    for (auto& [key, line] : lines_) {
      line.held = summed(line, looks_, options_.until);
      order.emplace_back(mean_growth(line.held), &line);
    }
    std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first > b.first; });
    if (order.size() > options_.most_sites) order.resize(options_.most_sites);
    std::vector<Site> sites;
    for (const auto& [grown, line] : order) sites.push_back(site_of(*line));
    return sites;
  }

 private:
  void add_site(const heap::Profiled& process, uint32_t number, const heap::LiveSite* live,
                std::vector<Place> stack, SiteReport& report) {
    if (stack.empty()) return;
    const double until = process.ended ? std::min(options_.until, process.held_time) : options_.until;
    HeldStack held{process.pid,
                   {},
                   0,
                   0,
                   0,
                   0,
                   rate_between(process.series.bytes(number), process.series.times(), until)};
    const heap::Site& total = process.reader->sites()[number];
    held.allocated_bytes = total.bytes, held.allocated_blocks = total.blocks;
    if (process.series.peak(number) < float(small)) {
      held.stack = std::move(stack);
      report.stacks.push_back(std::move(held));
      return;
    }
    const Place& place = stack[place_to_name(stack)];
    const Content content = content_of(stack);
    // What a library keeps for each shape is another matter than what the line itself keeps.
    const bool cache = content == Content::kernel_cache;
    Line& line = lines_[fmt::format("{}\n{}\n{}\n{}", place.file, place.line, place.function, cache)];
    if (cache) line.content = content;
    line_of_site_[number] = &line;
    if (line.parts.empty() || line.parts.back().process != &process)
      line.parts.push_back(
          {.process = &process, .bytes = std::vector<double>(process.series.times().size())});
    Part& part = line.parts.back();
    const auto bytes = process.series.bytes(number);
    for (size_t i = 0; i < bytes.size(); ++i) part.bytes[i] += bytes[i];
    held.stack = stack;
    if (live) {
      held.bytes = live->bytes, held.blocks = live->blocks;
      part.held_bytes += live->bytes, part.held_blocks += live->blocks;
      if (content == Content::autograd_node) line.graph_bytes += live->bytes;
      if (content == Content::decoded_image) line.image_bytes += live->bytes;
      if (part.oldest == 0 || live->oldest < part.oldest) part.oldest = live->oldest;
      part.none_freed = part.none_freed && live->freed_blocks == 0;
    }
    if (float(held.bytes) > line.largest) {
      line.largest = float(held.bytes);
      line.place = place;
      line.stack = std::move(stack);
    }
    report.stacks.push_back(std::move(held));
  }

  void add_births(const heap::Profiled& process) {
    const double clock = process.held_time - 1e-9 * double(process.held_nanoseconds);
    for (const heap::Block& block : process.reader->blocks())
      if (const auto line = line_of_site_.find(block.site); line != line_of_site_.end())
        line->second->born.push_back({1e-9 * double(block.time) + clock, double(block.bytes),
                                      double(block.bytes) <= stands_for_itself * double(block.size)});
  }

  // What is most of a process was allocated by the line that started it, or by what that calls.
  bool holds_most_of(const heap::Profiled& process, const Line& line, const Part& part) const {
    return std::none_of(lines_.begin(), lines_.end(), [&](const auto& other) {
      return &other.second != &line &&
             std::any_of(other.second.parts.begin(), other.second.parts.end(), [&](const Part& its) {
               return its.process == &process && its.held_bytes > part.held_bytes;
             });
    });
  }

  void add_processes(const Line& line, Site& site) const {
    if (!options_.footprints || line.parts.size() < 3) return;
    double until = 0;
    for (const Part& part : line.parts) until = std::max(until, part.process->held_time);
    until = std::min(until, options_.until);
    std::vector<KeptProcess> living;
    for (const Part& part : line.parts) {
      const heap::Profiled& process = *part.process;
      const auto owned = options_.footprints->find(process.pid);
      const bool lives = !process.ended || (process.held_time >= until - moments_of_an_end &&
                                            !left_before(process, options_.until));
      if (&process != root_ && lives && owned != options_.footprints->end() &&
          holds_most_of(process, line, part))
        living.push_back({process.first_seen, double(owned->second)});
    }
    site.processes_kept = keeps_processes(std::move(living), until);
    if (!site.processes_kept) return;
    site.bytes = std::max(site.bytes, uint64_t(site.processes_kept->bytes));
    site.grown = std::max(site.grown, site.processes_kept->bytes);
  }

  Site site_of(Line& line) const {
    Site site;
    site.place = line.place;
    site.stack = line.stack;
    site.none_freed = true;
    std::stable_sort(line.parts.begin(), line.parts.end(),
                     [](const Part& a, const Part& b) { return a.held_bytes > b.held_bytes; });
    for (const Part& part : line.parts) {
      site.bytes += part.held_bytes;
      site.blocks += part.held_blocks;
      site.none_freed = site.none_freed && part.none_freed;
      site.pids.push_back(part.process->pid);
      if (part.oldest && part.oldest < part.process->held_nanoseconds)
        site.oldest_seconds =
            std::max(site.oldest_seconds, 1e-9 * double(part.process->held_nanoseconds - part.oldest));
    }
    site.held = line.held;
    site.born = std::move(line.born);
    site.grown = low_water_growth(site.held);
    // A judgement takes milliseconds: while the program runs what did not gain two samples goes without.
    if (options_.verdicts && (!options_.own_names_only || site.grown >= 2 * options_.sample_bytes))
      site.verdict = verdict::judge(since(site.held, options_.from), {.starts_up = false});
    site.replaced =
        replaced_by_chance(site.held, site.verdict.onset,
                           {site.oldest_seconds,
                            sampling_error(double(site.bytes), double(site.blocks), options_.sample_bytes)});
    if (site.replaced && site.verdict.kind != verdict::Kind::no_leak) {
      site.verdict.kind = verdict::Kind::undecided;
      site.verdict.growing = false;
    }
    site.content = line.content;
    site.graph_bytes = line.graph_bytes, site.image_bytes = line.image_bytes;
    site.worker = worker_of(site.stack);
    site.grows_by_processes = grows_by_processes(line, site.grown);
    add_processes(line, site);
    if (!site.held.empty() && (site.verdict.growing || site.verdict.kind == verdict::Kind::leak)) {
      // All of the rise counts here, not only the part that is sure to go on: shares are to add up.
      verdict::Series series(site.held.size());
      for (const verdict::Sample& sample : site.held) series.add(sample.time, uint64_t(sample.bytes));
      site.rate = std::max(0.0, floor_slope(series, site.verdict.onset, site.held.back().time));
    }
    if (site.processes_kept) site.rate = std::max(site.rate, site.processes_kept->rate);
    site.source = source_line(site.place.file, site.place.line);
    return site;
  }

  const SiteOptions& options_;
  const heap::Profiled* root_ = nullptr;  // the first
  std::vector<double> looks_;             // at any process, in order
  std::map<std::string, Line> lines_;
  std::unordered_map<uint32_t, Line*> line_of_site_;  // of the process that is being added
};

}  // namespace

SiteReport judge_sites(const heap::Collector& collector, heap::Symbols* symbols, const SiteOptions& options) {
  SiteReport report;
  Lines lines(options, collector);
  for (const auto& process : collector.processes()) {
    if (process->series.times().empty()) continue;
    lines.add(*process, symbols, report);
    report.live_bytes += process->held_bytes();
    const heap::Header& header = process->reader->header();
    if (header.dropped > header.samples / 100)
      report.notes.push_back(
          fmt::format("process {}: {} of {} samples were lost because a table of the heap file was "
                      "full; figures of its sites are too low",
                      process->pid, format_count(header.dropped), format_count(header.samples)));
    if (header.python && !header.python_frames)
      report.notes.push_back(
          fmt::format("process {}: frames of Python {}.{} are not read; its sites are native", process->pid,
                      header.python >> 8, header.python & 255));
  }
  for (const std::string& trouble : collector.troubles()) report.notes.push_back(trouble);
  if (!heap::Symbols::missing().empty()) report.notes.emplace_back(heap::Symbols::missing());

  report.sites = lines.judged();
  for (Site& site : report.sites)
    if (site.rate > 0) site.hint = hint_for(site, options.sample_bytes);
  put_in_order(report);
  std::sort(report.stacks.begin(), report.stacks.end(), [](const HeldStack& a, const HeldStack& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.allocated_bytes > b.allocated_bytes;
  });
  if (report.stacks.size() > options.most_stacks) report.stacks.resize(options.most_stacks);
  return report;
}

void put_in_order(SiteReport& report) {
  report.live_rate = 0;
  for (const Site& site : report.sites) report.live_rate += site.rate;
  for (Site& site : report.sites) site.share = report.live_rate > 0 ? site.rate / report.live_rate : 0;
  std::stable_sort(report.sites.begin(), report.sites.end(), [](const Site& a, const Site& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.bytes > b.bytes;
  });
}

std::span<const verdict::Sample> since(std::span<const verdict::Sample> held, double time) {
  const auto first = std::find_if(held.begin(), held.end(),
                                  [&](const verdict::Sample& sample) { return sample.time >= time; });
  return first == held.end() ? held : held.subspan(size_t(first - held.begin()));
}

double low_water_growth(std::span<const verdict::Sample> held) {
  if (held.empty()) return 0;
  const size_t part = std::max<size_t>(1, held.size() / 20);
  const auto low = [](std::span<const verdict::Sample> some) {
    return std::min_element(some.begin(), some.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; })
        ->bytes;
  };
  return std::max(0.0, low(held.last(part)) - low(held.first(part)));
}

Grown grown_most(const SiteReport& report, double since) {
  constexpr double recent = 30;
  Grown most;
  for (const Site& site : report.sites) {
    if (site.held.empty()) continue;
    const double from = std::max(since - recent, (site.held.front().time + since) / 2);
    double before = 0;
    for (const verdict::Sample& sample : site.held)
      if (sample.time < from) before = std::max(before, sample.bytes);
    const double grown = site.held.back().bytes - before;
    if (grown > most.bytes) most = {&site, grown};
  }
  return most;
}

std::string next_with_sites(const SiteReport& report) {
  if (report.outside && report.outside->woken == 0)
    return "start the program with `plimsoll profile -- …`, or with `plimsoll profile --dormant -- …` to "
           "attach to it later";
  if (report.memory && report.memory->unprofiled > report.memory->pss / 2)
    return "most of the memory is in processes without a heap file: start dynamically linked programs, with "
           "LD_PRELOAD as they inherit it";
  if (report.answer == Answer::leak && !report.answer_site && report.memory &&
      report.memory->unprofiled + report.memory->unseen > report.memory->pss / 2)
    return "most of the memory is not from malloc: a runtime with a heap of its own, as V8 or Go, has tools "
           "that look into it";
  if (report.answer_site && (report.answer == Answer::filling || report.answer == Answer::undecided)) {
    const Site& site = report.sites[*report.answer_site];
    return fmt::format("watch for longer, to see whether {} stops: so far it has gained {}",
                       escape(site.place.text()), format_bytes(uint64_t(site.grown)));
  }
  if (report.sites.empty() || report.sites.front().rate <= 0)
    return "no sampled line grows: watch for longer, or sample more finely, as with `--rate 64KiB`";
  const Site& first = report.sites.front();
  return fmt::format("look at {}: it accounts for {:.0f} % of what grows", escape(first.place.text()),
                     100 * first.share);
}

}  // namespace plimsoll::diagnose
