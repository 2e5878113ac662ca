#include "diagnose/sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "base/mask.hpp"
#include "base/units.hpp"
#include "diagnose/judgement.hpp"
#include "verdict/series.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr uint64_t small = 64 << 10;  // what holds less than one sample in eight is not looked at

// The sites of one process that name the same line.
struct Group {
  Place place;
  std::vector<double> bytes;  // at each of the process's times
  std::vector<uint32_t> sites;
  std::vector<Place> stack;
  float largest = 0;
};

double growth(const std::vector<double>& bytes) {
  const size_t part = std::max<size_t>(1, bytes.size() / 4);
  const auto mean = [&](size_t from) {
    return std::accumulate(bytes.begin() + long(from), bytes.begin() + long(from + part), 0.0) / double(part);
  };
  return bytes.empty() ? 0 : mean(bytes.size() - part) - mean(0);
}

std::vector<verdict::Sample> samples(const std::vector<double>& times, const std::vector<double>& bytes,
                                     double until) {
  std::vector<verdict::Sample> out;
  for (size_t i = 0; i < times.size() && i < bytes.size(); ++i)
    if (times[i] <= until) out.push_back({times[i], bytes[i]});
  return out;
}

// One line of a text file of moderate size.
std::string source_line(const std::string& file, unsigned line) {
  std::error_code error;
  if (line == 0 || file.empty() || file[0] != '/' || !std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > (16 << 20))
    return {};
  std::ifstream in(file);
  std::string text;
  for (unsigned i = 0; i < line; ++i)
    if (!std::getline(in, text)) return {};
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  const size_t end = text.find_last_not_of(" \t\r");
  return text.substr(begin, std::min<size_t>(end + 1 - begin, 120));
}

double rate_between(std::span<const float> bytes, const std::vector<double>& times) {
  if (times.size() < 2 || times.back() <= times.front()) return 0;
  const double last = bytes.size() == times.size() ? bytes.back() : 0,
               first = bytes.empty() ? 0 : bytes.front();
  return (last - first) / (times.back() - times.front());
}

class ProcessSites {
 public:
  ProcessSites(const heap::Profiled& process, heap::Symbols* symbols, bool own_names_only)
      : process_(process), places_(*process.reader, symbols, own_names_only) {
    for (const heap::LiveSite& live : process.held) held_[live.site] = &live;
    for (uint32_t site = 1; site < process.series.sites(); ++site)
      if (process.series.peak(site) >= float(small)) add(site);
  }

  void judge(const SiteOptions& options, SiteReport& report) {
    std::vector<Group*> order;
    for (auto& [key, group] : groups_) order.push_back(&group);
    // Those that grew most are judged; what stands still needs no verdict of its own.
    std::sort(order.begin(), order.end(),
              [](const Group* a, const Group* b) { return growth(a->bytes) > growth(b->bytes); });
    if (order.size() > options.most_sites) order.resize(options.most_sites);
    // A program that ends by itself frees what it held; that is not judged.
    const double until = process_.ended ? std::min(options.until, process_.held_time) : options.until;
    for (const Group* group : order) report.sites.push_back(site_of(*group, until));
  }

  std::vector<HeldStack> stacks;

 private:
  void add(uint32_t number) {
    std::vector<Place> stack = places_.stack(number);
    if (stack.empty()) return;
    const Place& place = stack[place_to_name(stack)];
    Group& group = groups_[fmt::format("{}\n{}\n{}", place.file, place.line, place.function)];
    const auto bytes = process_.series.bytes(number);
    if (group.bytes.empty()) group.bytes.resize(process_.series.times().size());
    for (size_t i = 0; i < bytes.size(); ++i) group.bytes[i] += bytes[i];
    group.sites.push_back(number);
    HeldStack held{process_.pid, stack, 0, 0, 0, 0, rate_between(bytes, process_.series.times())};
    if (const auto live = held_.find(number); live != held_.end()) {
      held.bytes = live->second->bytes, held.blocks = live->second->blocks;
      held.allocated_bytes = live->second->allocated_bytes,
      held.allocated_blocks = live->second->allocated_blocks;
    }
    if (float(held.bytes) >= group.largest) {
      group.largest = float(held.bytes);
      group.place = place;
      group.stack = std::move(stack);
    }
    stacks.push_back(std::move(held));
  }

  Site site_of(const Group& group, double until) const {
    Site site;
    site.pid = process_.pid;
    site.place = group.place;
    site.stack = group.stack;
    site.none_freed = true;
    uint64_t oldest = 0;
    for (const uint32_t number : group.sites) {
      if (const auto live = held_.find(number); live != held_.end()) {
        site.bytes += live->second->bytes;
        site.blocks += live->second->blocks;
        if (oldest == 0 || live->second->oldest < oldest) oldest = live->second->oldest;
        if (live->second->freed_blocks > 0) site.none_freed = false;
      }
    }
    if (oldest && oldest < process_.held_nanoseconds)
      site.oldest_seconds = 1e-9 * double(process_.held_nanoseconds - oldest);
    const std::vector<verdict::Sample> seen = samples(process_.series.times(), group.bytes, until);
    site.verdict = verdict::judge(seen);
    site.held = seen;
    if (site.verdict.growing || site.verdict.kind == verdict::Kind::leak) {
      // All of the rise counts here, not only the part that is sure to go on: shares are to add up.
      verdict::Series series(seen.size());
      for (const verdict::Sample& sample : seen) series.add(sample.time, uint64_t(sample.bytes));
      site.rate = std::max(0.0, floor_slope(series, site.verdict.onset, until));
    }
    site.source = source_line(site.place.file, site.place.line);
    return site;
  }

  const heap::Profiled& process_;
  Places places_;
  std::map<uint32_t, const heap::LiveSite*> held_;
  std::map<std::string, Group> groups_;
};

}  // namespace

SiteReport judge_sites(const heap::Collector& collector, heap::Symbols* symbols, const SiteOptions& options) {
  SiteReport report;
  for (const auto& process : collector.processes()) {
    if (process->series.times().empty()) continue;
    ProcessSites sites(*process, symbols, options.own_names_only);
    sites.judge(options, report);
    std::move(sites.stacks.begin(), sites.stacks.end(), std::back_inserter(report.stacks));
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

  for (const Site& site : report.sites) report.live_rate += site.rate;
  for (Site& site : report.sites) site.share = report.live_rate > 0 ? site.rate / report.live_rate : 0;
  std::stable_sort(report.sites.begin(), report.sites.end(), [](const Site& a, const Site& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.bytes > b.bytes;
  });
  if (report.sites.size() > options.most_sites) report.sites.resize(options.most_sites);
  std::sort(report.stacks.begin(), report.stacks.end(),
            [](const HeldStack& a, const HeldStack& b) { return a.bytes > b.bytes; });
  if (report.stacks.size() > options.most_stacks) report.stacks.resize(options.most_stacks);
  return report;
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
  if (report.sites.empty() || report.sites.front().rate <= 0)
    return "no sampled line grows: watch for longer, or sample more finely, as with `--rate 64KiB`";
  const Site& first = report.sites.front();
  return fmt::format("look at {}: it accounts for {:.0f} % of what grows", escape(first.place.text()),
                     100 * first.share);
}

}  // namespace plimsoll::diagnose
