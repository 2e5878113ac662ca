#include "live/kept_run.hpp"

#include <algorithm>
#include <array>

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
double known_or_nan(int64_t count) { return count < 0 ? unknown_real : double(count); }

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
  data_.plan_roles = reader.plan_roles();
  data_.sites = reader.sites();
  data_.from = data_.session_begin();
}

void KeptRun::judge(verdict::Judgement judgement, double line) {
  data_.judgement = std::move(judgement);
  data_.line = line;
}

report::RunData KeptRun::take(const RunTail::News& news) {
  report::RunData more;
  more.memory = news.memory;
  more.steps = news.steps;
  more.evaluations = news.evaluations;
  more.phases = news.phases;
  more.events = news.events;
  if (!news.rank_samples.empty()) {
    append(data_.rank_samples, news.rank_samples);
    thin(data_.rank_samples, most_samples, [](const RankSampleRow& row) {
      return Measures{row.rank, known_or_nan(row.rss), row.waiting_seconds};
    });
    data_.ranks = more.ranks = report::view_ranks(data_, false);
  }
  if (!news.answers.empty()) {
    data_.pictures = news.pictures;
    append(data_.answers, news.answers);
    drop_oldest(data_.answers, most_others);
    more.pictures = data_.pictures, more.answers = data_.answers;
  }
  for (const RunReader::Process& row : news.processes)
    if (known_.count(row.id) || known_.size() < 2 * most_processes) known_[row.id].process = row;
  // A process is recorded when it moved: what it had before holds for the moments of this increment too.
  if (!news.memory.empty())
    for (const auto& [id, known] : known_) {
      if (known.newest.process != id) continue;
      more.samples.push_back(known.newest);
      more.samples.back().time = news.memory.front().time;
    }
  for (const ProcessSampleRow& row : news.samples)
    if (const auto at = known_.find(row.process); at != known_.end()) {
      at->second.newest = row;
      more.samples.push_back(row);
      data_.samples.push_back(row);
    }
  std::stable_sort(more.samples.begin(), more.samples.end(),
                   [](auto& a, auto& b) { return a.time < b.time; });
  for (auto& [id, known] : known_) {
    const bool ended = !std::isnan(known.process.ended);
    if (!ended || known.newest.process == id) more.processes.push_back(known.process);
    if (ended) known.newest = {};  // told once more, then no longer
  }

  append(data_.memory, news.memory);
  append(data_.steps, news.steps);
  append(data_.evaluations, news.evaluations);
  append(data_.phases, news.phases);
  append(data_.events, news.events);
  bound();
  data_.processes.clear();
  for (const auto& [id, known] : known_) data_.processes.push_back(known.process);
  data_.until = data_.memory.empty() ? 0 : data_.memory.back().time;
  return more;
}

void KeptRun::bound() {
  thin(data_.memory, most_rows, [](const RunReader::Memory& row) {
    return Measures{0, known_or_nan(footprint(row)), known_or_nan(row.rss)};
  });
  thin(data_.steps, most_rows, [](const StepRow& row) {
    return Measures{0, row.loss, row.iterations_per_second};
  });
  thin(data_.samples, most_samples, [](const ProcessSampleRow& row) {
    return Measures{row.process, known_or_nan(footprint(row)), known_or_nan(row.rss)};
  });
  drop_oldest(data_.evaluations, most_others);
  drop_oldest(data_.phases, most_others);
  drop_oldest(data_.events, most_others);
  if (known_.size() <= most_processes) return;
  // Of those that came and went, the oldest are forgotten with their samples.
  for (auto at = known_.begin(); at != known_.end() && known_.size() > most_processes / 2;)
    at = std::isnan(at->second.process.ended) ? std::next(at) : known_.erase(at);
  std::erase_if(data_.samples, [&](const ProcessSampleRow& row) { return !known_.count(row.process); });
}

}  // namespace plimsoll::live
