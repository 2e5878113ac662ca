#include "live/kept_run.hpp"

#include <algorithm>
#include <set>

#include "record/thinning.hpp"

namespace plimsoll::live {
namespace {

template <typename Row>
void append(std::vector<Row>& to, const std::vector<Row>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Thins the older half where there are more than `most`. `measure` gives a row's series and its two measures.
template <typename Row, typename Measure>
void thin(std::vector<Row>& rows, size_t most, Measure measure) {
  if (rows.size() <= most) return;
  struct Group {
    size_t size = 0;
    std::array<ThinningRow, thinning_group> rows;
  };
  std::map<int64_t, Group> groups;
  const size_t half = rows.size() / 2;
  std::vector<bool> keep(rows.size(), true);
  const auto close = [&](Group& group) {
    const uint32_t kept = rows_to_keep(std::span(group.rows).first(group.size));
    for (size_t i = 0; i < group.size; ++i) keep[size_t(group.rows[i].id)] = (kept >> i & 1) != 0;
    group.size = 0;
  };
  for (size_t i = 0; i < half; ++i) {
    const auto [series, first, second] = measure(rows[i]);
    Group& group = groups[series];
    group.rows[group.size++] = {int64_t(i), first, second};
    if (group.size == thinning_group) close(group);
  }
  size_t at = 0;
  std::erase_if(rows, [&](const Row&) { return !keep[at++]; });
}

struct Measures {
  int64_t series = 0;
  double first = unknown_real, second = unknown_real;
};
double known(int64_t count) { return count < 0 ? unknown_real : double(count); }

template <typename Row>
void drop_oldest(std::vector<Row>& rows, size_t most) {
  if (rows.size() > most) rows.erase(rows.begin(), rows.end() - ptrdiff_t(most / 2));
}

}  // namespace

KeptRun::KeptRun(const RunReader& reader, std::string name) {
  data_.name = std::move(name);
  data_.run = reader.run();
  data_.sessions = reader.sessions();
  data_.configuration = reader.configuration();
  data_.plan = reader.plan();
  data_.sites = reader.sites();
  // A resumed run is a process of its own: what is judged begins with it.
  data_.from = data_.sessions.size() > 1 ? data_.sessions.back().time : 0;
}

void KeptRun::judge(std::string verdict, double line) {
  data_.verdict = std::move(verdict);
  data_.line = line;
}

report::RunData KeptRun::take(const RunTail::News& news) {
  report::RunData more;
  more.memory = news.memory;
  more.steps = news.steps;
  more.evaluations = news.evaluations;
  more.phases = news.phases;
  more.events = news.events;
  more.processes = news.processes;
  // A process is recorded when it moved: what it had before holds for the moments of this increment too.
  std::set<int64_t> told;
  for (const RunReader::Process& process : more.processes) told.insert(process.id);
  const double begin = !news.memory.empty() ? news.memory.front().time : unknown_real;
  for (auto& [id, sample] : newest_) {
    if (std::isnan(begin)) break;
    ProcessSampleRow held = sample;
    held.time = begin;
    more.samples.push_back(held);
    if (told.count(id)) continue;
    const auto process = std::find_if(data_.processes.begin(), data_.processes.end(),
                                      [id = id](const RunReader::Process& one) { return one.id == id; });
    if (process != data_.processes.end()) more.processes.push_back(*process);
  }
  append(more.samples, news.samples);
  std::stable_sort(more.samples.begin(), more.samples.end(), [](auto& a, auto& b) { return a.time < b.time; });

  append(data_.memory, news.memory);
  append(data_.steps, news.steps);
  append(data_.evaluations, news.evaluations);
  append(data_.phases, news.phases);
  append(data_.events, news.events);
  append(data_.samples, news.samples);
  for (const RunReader::Process& process : news.processes) {
    const auto known = std::find_if(data_.processes.begin(), data_.processes.end(),
                                    [&](const RunReader::Process& one) { return one.id == process.id; });
    if (known == data_.processes.end())
      data_.processes.push_back(process);
    else
      *known = process;
    if (!std::isnan(process.ended)) newest_.erase(process.id);
  }
  for (const ProcessSampleRow& sample : news.samples) newest_[sample.process] = sample;
  for (const RunReader::Process& process : news.processes)
    if (!std::isnan(process.ended)) newest_.erase(process.id);
  bound();
  data_.until = data_.memory.empty() ? 0 : data_.memory.back().time;
  return more;
}

void KeptRun::bound() {
  thin(data_.memory, most_rows, [](const RunReader::Memory& row) {
    return Measures{0, known(report::footprint(row)), known(row.rss)};
  });
  thin(data_.steps, most_rows, [](const StepRow& row) {
    return Measures{0, row.loss, row.iterations_per_second};
  });
  thin(data_.samples, most_samples, [](const ProcessSampleRow& row) {
    return Measures{row.process, known(report::footprint(row)), known(row.rss)};
  });
  drop_oldest(data_.evaluations, most_others);
  drop_oldest(data_.phases, most_others);
  drop_oldest(data_.events, most_others);
  if (data_.processes.size() <= most_processes) return;
  // Of those that came and went, the oldest are forgotten with their samples.
  size_t surplus = data_.processes.size() - most_processes / 2;
  std::set<int64_t> gone;
  for (const RunReader::Process& process : data_.processes)
    if (surplus > 0 && !std::isnan(process.ended)) gone.insert(process.id), --surplus;
  for (const RunReader::Process& process : data_.processes)  // as many alive at once as that: the newest are not followed
    if (surplus > 0 && !gone.count(process.id) && data_.processes.size() - gone.size() > most_processes)
      gone.insert(process.id), newest_.erase(process.id), --surplus;
  std::erase_if(data_.processes, [&](const RunReader::Process& process) { return gone.count(process.id) > 0; });
  std::erase_if(data_.samples, [&](const ProcessSampleRow& row) { return gone.count(row.process) > 0; });
}

}  // namespace plimsoll::live
