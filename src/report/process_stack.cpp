#include "report/process_stack.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "report/thin.hpp"

namespace plimsoll::report {
namespace {

struct Extremes {
  int64_t first = -1, last = -1, low = -1, peak = -1;
  double low_time = 0, peak_time = 0;
};

// Moments at which the tree was seen; without such rows those of the processes.
std::vector<double> moments_of(const RunData& data, size_t stretches) {
  std::vector<double> moments;
  if (data.memory.empty()) {
    const auto kept = rows_to_show(
        data.samples.size(), [&](size_t i) { return data.samples[i].time; },
        {[&](size_t i) { return double(footprint(data.samples[i])); }}, stretches);
    for (const size_t i : kept) moments.push_back(data.samples[i].time);
    return moments;
  }
  const auto kept = rows_to_show(
      data.memory.size(), [&](size_t i) { return data.memory[i].time; },
      {[&](size_t i) { return double(footprint(data.memory[i])); }}, stretches);
  for (const size_t i : kept) moments.push_back(data.memory[i].time);
  return moments;
}

}  // namespace

ProcessStack stack_processes(const RunData& data, size_t most_processes, size_t stretches) {
  ProcessStack stack;
  std::unordered_map<int64_t, size_t> row_of;
  for (size_t i = 0; i < data.processes.size(); ++i) row_of[data.processes[i].id] = i;
  std::vector<Extremes> extremes(data.processes.size());
  // When a tree ends, pages lose their sharers one by one: what remains seems to grow.
  const double end = data.until > data.from ? data.until : std::numeric_limits<double>::infinity();
  for (const ProcessSampleRow& sample : data.samples) {
    if (sample.time > end) break;
    const auto found = row_of.find(sample.process);
    const int64_t bytes = footprint(sample);
    if (found == row_of.end() || bytes < 0) continue;
    Extremes& of = extremes[found->second];
    if (of.first < 0) of.first = bytes;
    of.last = bytes;
    if (of.low < 0 || bytes < of.low) of.low = bytes, of.low_time = sample.time;
    if (bytes > of.peak) of.peak = bytes, of.peak_time = sample.time;
  }
  std::vector<size_t> seen;
  for (size_t i = 0; i < extremes.size(); ++i)
    if (extremes[i].first >= 0) seen.push_back(i);
  if (seen.empty()) return stack;
  std::stable_sort(seen.begin(), seen.end(),
                   [&](size_t a, size_t b) { return extremes[a].peak > extremes[b].peak; });
  const size_t count = std::min(seen.size(), most_processes);
  stack.others = seen.size() - count;
  std::vector<size_t> column(data.processes.size(), count);  // the others share the last
  std::sort(seen.begin(), seen.begin() + long(count));
  for (size_t i = 0; i < count; ++i) {
    const Extremes& of = extremes[seen[i]];
    column[seen[i]] = i;
    stack.shown.push_back({&data.processes[seen[i]], of.first, of.last, of.low, of.peak});
  }

  std::vector<double> moments = moments_of(data, stretches);
  for (size_t i = 0; i < count; ++i)
    moments.insert(moments.end(), {extremes[seen[i]].low_time, extremes[seen[i]].peak_time});
  std::sort(moments.begin(), moments.end());
  std::erase_if(moments, [&](double moment) { return moment > end; });
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());

  // A process is recorded when it moved: its last value holds until the next, or until it ends.
  std::vector<int64_t> now(data.processes.size(), -1);
  std::vector<size_t> alive;
  size_t next = 0;
  for (const double moment : moments) {
    for (; next < data.samples.size() && data.samples[next].time <= moment; ++next) {
      const auto found = row_of.find(data.samples[next].process);
      const int64_t bytes = footprint(data.samples[next]);
      if (found == row_of.end() || bytes < 0) continue;
      if (now[found->second] < 0) alive.push_back(found->second);
      now[found->second] = bytes;
    }
    std::erase_if(alive, [&](size_t i) {
      const bool gone = data.processes[i].ended < moment;
      if (gone) now[i] = -1;
      return gone;
    });
    ProcessStack::Row row{moment, std::vector<int64_t>(count + (stack.others ? 1 : 0), -1)};
    for (const size_t i : alive) {
      int64_t& cell = row.bytes[column[i]];
      cell = std::max<int64_t>(cell, 0) + now[i];
    }
    stack.rows.push_back(std::move(row));
  }
  return stack;
}

}  // namespace plimsoll::report
