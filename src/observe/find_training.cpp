#include "observe/find_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/mask.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "platform/machine.hpp"

namespace plimsoll::observe {
namespace {

constexpr std::array training_libraries{"libtorch",       "libmlx",      "libtensorflow", "libjax",
                                        "xla_extension",  "libmxnet",    "libpaddle",     "libggml",
                                        "libonnxruntime", "libcudnn",    "libcublas",     "libnccl",
                                        "libhipblas",     "librccl",     "liblightgbm",   "libxgboost",
                                        "_xgboost",       "libplimsoll", "libmindspore",  "libtriton"};

bool speaks_for_training(std::string_view library) {
  return std::any_of(training_libraries.begin(), training_libraries.end(),
                     [&](std::string_view known) { return library.find(known) != std::string_view::npos; });
}

double uptime_seconds(const proc::Files& files) {
  std::string text;
  double seconds = 0;
  if (files.read("uptime", text, 256) == proc::Read::ok)
    std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

}  // namespace

std::vector<TrainingCandidate> find_training(const proc::Files& files) {
  constexpr size_t looked_into = 40;  // libraries are read of the largest only
  std::vector<int> pids;
  files.list(pids);
  std::map<int, proc::Stat> table;
  for (int pid : pids)
    if (auto stat = files.stat(pid); stat && stat->state != 'Z') table[pid] = *stat;
  std::set<int> ours;
  for (int pid = platform::own_pid(); table.count(pid) && ours.insert(pid).second;) pid = table[pid].parent;

  const double uptime = uptime_seconds(files);
  std::vector<TrainingCandidate> candidates;
  for (const auto& [pid, stat] : table) {
    if (ours.count(pid) || stat.resident_pages == 0) continue;  // kernel threads have no pages
    TrainingCandidate candidate{.pid = pid,
                                .name = escape(stat.name),
                                .command = {},
                                .rss = stat.resident_pages * proc::page_size(),
                                .libraries = {}};
    double age = std::max(1.0, uptime - double(stat.id.start_ticks) / proc::ticks_per_second());
    candidate.cpu_share = double(stat.cpu_ticks) / proc::ticks_per_second() / age;
    for (const auto& [other, child] : table) candidate.children += child.parent == pid;
    candidates.push_back(std::move(candidate));
  }
  std::sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.rss > b.rss; });
  if (candidates.size() > looked_into) candidates.resize(looked_into);

  std::map<int, bool> trains;
  for (TrainingCandidate& candidate : candidates) {
    std::vector<std::string> libraries;
    files.each_line(candidate.pid, "maps",
                    [&](std::string_view line) { proc::add_mapped_library(line, libraries); });
    for (const std::string& library : libraries)
      if (speaks_for_training(library)) candidate.libraries.push_back(escape(library));
    trains[candidate.pid] = !candidate.libraries.empty();
    std::string text;
    if (files.read(candidate.pid, "cmdline", text, 8192) == proc::Read::ok)
      candidate.command = display_command(proc::parse_cmdline(text), 120);
  }
  for (TrainingCandidate& candidate : candidates) {
    double memory = std::log2(1 + double(candidate.rss) / 64e6);
    double processor = 2 * std::log2(1 + candidate.cpu_share);
    double libraries = candidate.libraries.empty() ? 0 : 4;
    double children = std::min(candidate.children, 4) * 0.25;
    // A worker has all that its parent has; the parent is the one to follow.
    double led = trains[table[candidate.pid].parent] ? -1.5 : 0;
    candidate.score = memory + processor + libraries + children + led;
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.score > b.score; });
  // A framework, or real memory with real work: anything less is not worth a guess.
  auto likely = [](const TrainingCandidate& c) {
    return !c.libraries.empty() || (c.rss > 100'000'000 && c.cpu_share > 0.2);
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), [&](auto& c) { return !likely(c); }),
                   candidates.end());
  if (candidates.size() > 8) candidates.resize(8);
  return candidates;
}

std::string describe_candidates(const std::vector<TrainingCandidate>& candidates) {
  std::string text = "processes that look like training, best first:\n";
  for (size_t i = 0; i < candidates.size(); ++i) {
    const TrainingCandidate& c = candidates[i];
    std::string libraries = c.libraries.empty() ? "no framework" : c.libraries[0];
    if (c.libraries.size() > 1) libraries += fmt::format(" and {} more", c.libraries.size() - 1);
    text += fmt::format("{} {:>7}  {:>9}  {:>4.0f} % cpu  {:>2} children  {}  {}\n", i == 0 ? "->" : "  ",
                        c.pid, format_bytes(c.rss), 100 * c.cpu_share, c.children, libraries,
                        c.command.empty() ? c.name : c.command);
  }
  return text;
}

}  // namespace plimsoll::observe
