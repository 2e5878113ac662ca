#include "report/process_stack.hpp"

#include <algorithm>
#include <limits>
#include <optional>
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

// Which row of data.processes a sample belongs to.
class RowOf {
 public:
  explicit RowOf(const RunData& data) {
    for (size_t i = 0; i < data.processes.size(); ++i) rows_[data.processes[i].id] = i;
  }
  std::optional<size_t> operator()(const ProcessSampleRow& sample) const {
    const auto found = rows_.find(sample.process);
    if (found == rows_.end() || footprint(sample) < 0) return std::nullopt;
    return found->second;
  }

 private:
  std::unordered_map<int64_t, size_t> rows_;
};

std::vector<Extremes> extremes_of(const RunData& data, const RowOf& row_of, double end) {
  std::vector<Extremes> extremes(data.processes.size());
  for (const ProcessSampleRow& sample : data.samples) {
    if (sample.time > end) break;
    const auto row = row_of(sample);
    if (!row) continue;
    const int64_t bytes = footprint(sample);
    Extremes& of = extremes[*row];
    if (of.first < 0) of.first = bytes;
    of.last = bytes;
    if (of.low < 0 || bytes < of.low) of.low = bytes, of.low_time = sample.time;
    if (bytes > of.peak) of.peak = bytes, of.peak_time = sample.time;
  }
  return extremes;
}

// The processes with the highest peaks, in the order of data.processes; `others` counts the rest.
std::vector<size_t> largest(const std::vector<Extremes>& extremes, size_t most, size_t& others) {
  std::vector<size_t> seen;
  for (size_t i = 0; i < extremes.size(); ++i)
    if (extremes[i].first >= 0) seen.push_back(i);
  std::stable_sort(seen.begin(), seen.end(),
                   [&](size_t a, size_t b) { return extremes[a].peak > extremes[b].peak; });
  others = seen.size() - std::min(seen.size(), most);
  seen.resize(seen.size() - others);
  std::sort(seen.begin(), seen.end());
  return seen;
}

// A process is recorded when it moved: its last value holds until the next, or until it ends.
class Playback {
 public:
  Playback(const RunData& data, const RowOf& row_of)
      : data_(data), row_of_(row_of), now_(data.processes.size(), -1) {}

  // Adds what each process that lives at `moment` holds to its column.
  void add(double moment, const std::vector<size_t>& column, std::vector<int64_t>& cells) {
    for (; next_ < data_.samples.size() && data_.samples[next_].time <= moment; ++next_) {
      const auto row = row_of_(data_.samples[next_]);
      if (!row) continue;
      if (now_[*row] < 0) alive_.push_back(*row);
      now_[*row] = footprint(data_.samples[next_]);
    }
    std::erase_if(alive_, [&](size_t i) {
      const bool gone = data_.processes[i].ended < moment;
      if (gone) now_[i] = -1;
      return gone;
    });
    for (const size_t i : alive_) {
      int64_t& cell = cells[column[i]];
      cell = std::max<int64_t>(cell, 0) + now_[i];
    }
  }

 private:
  const RunData& data_;
  const RowOf& row_of_;
  std::vector<int64_t> now_;
  std::vector<size_t> alive_;
  size_t next_ = 0;
};

}  // namespace

ProcessStack stack_processes(const RunData& data, size_t most_processes, size_t stretches) {
  ProcessStack stack;
  const RowOf row_of(data);
  // When a tree ends, pages lose their sharers one by one: what remains seems to grow.
  const double end = data.until > data.from ? data.until : std::numeric_limits<double>::infinity();
  const std::vector<Extremes> extremes = extremes_of(data, row_of, end);
  const std::vector<size_t> shown = largest(extremes, most_processes, stack.others);
  if (shown.empty()) return stack;

  std::vector<size_t> column(data.processes.size(), shown.size());  // the others share the last
  std::vector<double> moments = moments_of(data, stretches);
  for (size_t i = 0; i < shown.size(); ++i) {
    const Extremes& of = extremes[shown[i]];
    column[shown[i]] = i;
    stack.shown.push_back({&data.processes[shown[i]], of.first, of.last, of.low, of.peak});
    moments.insert(moments.end(), {of.low_time, of.peak_time});
  }
  std::sort(moments.begin(), moments.end());
  std::erase_if(moments, [&](double moment) { return moment > end; });
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());

  Playback playback(data, row_of);
  for (const double moment : moments) {
    ProcessStack::Row row{moment, std::vector<int64_t>(shown.size() + (stack.others ? 1 : 0), -1)};
    playback.add(moment, column, row.bytes);
    stack.rows.push_back(std::move(row));
  }
  return stack;
}

}  // namespace plimsoll::report
