#include "watch/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/mask.hpp"
#include "base/units.hpp"
#include "diagnose/judgement.hpp"
#include "live/terminal.hpp"
#include "watch/live_line.hpp"

namespace plimsoll::watch {
namespace {

constexpr const char *red = "\x1b[31m", *yellow = "\x1b[33m", *green = "\x1b[32m", *dim = "\x1b[2m",
                     *normal = "\x1b[0m";
constexpr double growth_window = 600;  // seconds that "growth" looks back

// Bytes a minute at the low water of the last minutes, as people read it; "steady" below what can be told from noise.
std::string growth_of(const verdict::Series& series, double now, double& rate) {
  const double from = std::max(series.size() ? double(series[0].begin) : now, now - growth_window);
  rate = 60 * diagnose::floor_slope(series, from, now);
  const double level = series.size() ? double(series[series.size() - 1].low) : 0;
  if (std::fabs(rate) * (now - from) / 60 < std::max(0.01 * level, 65536.0)) rate = 0;
  return rate == 0 ? "steady"
                   : fmt::format("{}{}/min", rate > 0 ? "+" : "-", format_bytes(uint64_t(std::fabs(rate))));
}

struct Shown {
  const observe::Process* process;
  int depth;
};

// The `most` largest, each below its nearest shown ancestor.
std::vector<Shown> in_tree_order(const observe::Snapshot& snapshot, size_t most) {
  std::vector<const observe::Process*> largest;
  for (const observe::Process& process : snapshot.processes) largest.push_back(&process);
  std::stable_sort(largest.begin(), largest.end(),
                   [](auto* a, auto* b) { return a->footprint() > b->footprint(); });
  largest.resize(std::min(most, largest.size()));
  std::map<int, const observe::Process*> all, kept;
  for (const observe::Process& process : snapshot.processes) all[process.id.pid] = &process;
  for (const observe::Process* process : largest) kept[process->id.pid] = process;
  std::multimap<int, const observe::Process*> children;  // 0: without a shown ancestor
  for (const observe::Process* process : largest) {
    int parent = process->parent;
    // Bounded: a snapshot is no moment in time, parents may seem to go in a circle.
    for (size_t i = 0; i < all.size() && parent && !kept.count(parent); ++i)
      parent = all.count(parent) ? all[parent]->parent : 0;
    children.emplace(kept.count(parent) && parent != process->id.pid ? parent : 0, process);
  }
  std::vector<Shown> shown;
  const auto add = [&](const auto& self, int parent, int depth) -> void {
    for (auto [at, end] = children.equal_range(parent); at != end; ++at) {
      shown.push_back({at->second, depth});
      self(self, at->second->id.pid, depth + 1);
    }
  };
  add(add, 0, 0);
  return shown;
}

std::string summary(const WatchView& view, const ViewStyle& style, double now) {
  double rate = 0;
  const std::string growth = growth_of(view.tree, now, rate);
  std::string line;
  if (view.tree.size())
    line = fmt::format("floor {} {} {}", format_bytes(view.tree[view.tree.size() - 1].low),
                       sparkline(view.tree, std::clamp(style.columns / 5, 6, 24), style.unicode), growth);
  if (view.verdict) {
    const auto kind = view.verdict->kind;
    const char* colour = kind == verdict::Kind::leak ? red : kind == verdict::Kind::no_leak ? green : yellow;
    line += fmt::format("{}verdict: {}{}{}{}", line.empty() ? "" : "  ", style.colour ? colour : "",
                        verdict::kind_name(kind),
                        kind == verdict::Kind::undecided && view.verdict->growing ? ", growing" : "",
                        style.colour ? normal : "");
    if (view.verdict->seconds_to_limit)
      line += fmt::format(", {} to the line", format_duration(*view.verdict->seconds_to_limit));
  }
  if (!view.guard.empty()) line += fmt::format("  guard: {}", escape(view.guard));
  return line;
}

}  // namespace

std::string sparkline(const verdict::Series& series, int width, bool unicode) {
  const size_t count = std::min(size_t(std::max(width, 0)), series.size());
  if (count == 0) return {};
  // Its last values or, in a long series, the whole of it in `count` stretches: the greatest of each.
  std::vector<double> heights(count, 0);
  for (size_t i = 0; i < series.size(); ++i) {
    double& height = heights[i * count / series.size()];
    height = std::max(height, double(series[i].high));
  }
  const auto [low, high] = std::minmax_element(heights.begin(), heights.end());
  // What moves by less than a hundredth is flat.
  const double base = *low, range = std::max(*high - *low, 0.01 * *high);
  std::string line;
  for (const double height : heights)
    line += live::spark(range > 0 ? int(7.99 * (height - base) / range) : 0, unicode);
  return line;
}

std::string watch_view(const WatchView& view, const ViewStyle& style) {
  const double now = view.snapshot.time;
  const bool narrow = style.columns < 60;
  std::vector<std::string> lines{live_line(view.snapshot, view.reached), summary(view, style, now)};
  const size_t room = size_t(std::max(style.rows - 4, 1)), all = view.snapshot.processes.size();
  const int spark_width = narrow ? 6 : 12;
  lines.push_back(fmt::format("{}{:>7} {:>9} {:>13} {:<{}} {}{}{}", style.colour ? dim : "", "PID", "memory",
                              "growth", "", spark_width, narrow ? "" : fmt::format("{:<12}", "role"), "name",
                              style.colour ? normal : ""));
  for (const Shown& shown : in_tree_order(view.snapshot, room)) {
    const observe::Process& process = *shown.process;
    const auto life = view.history.processes().find(process.id);
    const auto role = view.roles.role.find(process.id);
    double rate = 0;
    std::string growth, heights;
    if (life != view.history.processes().end()) {
      growth = growth_of(life->second.series, now, rate);
      heights = sparkline(life->second.series, spark_width, style.unicode);
    }
    const size_t drawn = std::min(size_t(spark_width),
                                  life == view.history.processes().end() ? 0 : life->second.series.size());
    lines.push_back(fmt::format(
        "{:>7} {:>9} {}{:>13}{} {}{} {}{}{}", process.id.pid,
        (process.pss_measured ? "" : "~") + format_bytes(process.footprint()),
        style.colour && rate > 0 ? yellow : "", growth, style.colour && rate > 0 ? normal : "", heights,
        std::string(size_t(spark_width) - drawn, ' '),
        narrow
            ? ""
            : fmt::format("{:<12}", role == view.roles.role.end() ? "" : diagnose::role_name(role->second)),
        std::string(size_t(std::min(shown.depth, 6)), ' '), escape(process.name)));
  }
  if (all > room) lines.push_back(fmt::format("{:>7} and {} more", "", all - room));
  std::string text;
  for (const std::string& line : lines) {
    text += live::clip(line, style.columns);
    if (style.colour) text += normal;
    text += '\n';
  }
  return text;
}

}  // namespace plimsoll::watch
