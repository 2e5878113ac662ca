#include "live/current.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/footprint.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace plimsoll::live {
namespace {

constexpr size_t most_processes = 4096;

int64_t number_of(const Current::Configuration& configuration, std::string_view key) {
  for (const auto& [name, value] : configuration)
    if (name == key) return std::max<int64_t>(text::number<int64_t>(value).value_or(0), 0);
  return 0;
}

// The memory line of a training run: `--memory`, else the machine's.
int64_t line_of(const Current::Configuration& configuration, uint64_t machine_bytes) {
  for (const auto& [name, value] : configuration)
    if (name == "memory" && !value.empty()) try {
        return int64_t(parse_size(value).of(machine_bytes));
      } catch (const Error&) {
        break;  // a record of a later version
      }
  return int64_t(machine_bytes);
}

// The level by the first word of a guard's event: the level itself, or what was done because of it; -1: neither.
int64_t level_of(const RunReader::Event& event) {
  constexpr std::pair<std::string_view, int> words[] = {{"ok", 0},    {"grow", 0},  {"resume", 0},
                                                        {"warn", 1},  {"eased", 0}, {"shrink", 2},
                                                        {"pause", 3}, {"stop", 4}};
  if (event.kind != "guard") return -1;
  const std::string_view word = std::string_view(event.text).substr(0, event.text.find_first_of(": "));
  for (const auto& [known, level] : words)
    if (word == known) return level;
  return -1;
}

}  // namespace

Current::Current(RunReader::Run run, const Configuration& configuration, double session, int64_t plan_bytes,
                 uint64_t machine_bytes)
    : run_(std::move(run)),
      session_(session),
      plan_bytes_(plan_bytes),
      iterations_(number_of(configuration, "iterations")),
      tokens_per_step_(number_of(configuration, "batch") *
                       std::max<int64_t>(number_of(configuration, "accumulate"), 1) *
                       number_of(configuration, "context")),
      line_(line_of(configuration, machine_bytes)),
      guard_level_(run_.kind == "guard" ? 0 : -1),
      online_({.limit_bytes = double(line_), .patience_seconds = verdict::usual_patience}) {
  for (const auto& [name, value] : configuration)
    if (name.starts_with("rank.") && name.ends_with(".node"))
      if (const auto rank = text::number<int64_t>(std::string_view(name).substr(5, name.size() - 10)))
        nodes_[*rank] = value;
  for (const char* key : {"job", "rank", "node"})
    for (const auto& [name, value] : configuration)
      if (name == key) rank_labels_.emplace_back(name, value);
}

int64_t Current::bytes() const { return footprint(memory_); }
int64_t Current::limit_bytes() const { return memory_.limit > 0 ? memory_.limit : line_; }

void Current::take(const RunTail::News& news) {
  if (!news.memory.empty()) ended_ = false;  // resumed
  size_t next_step = 0;
  for (const RunReader::Memory& row : news.memory) {
    memory_ = row;
    time_ = std::max(time_, row.time);
    if (row.limit > 0) online_.limit(double(row.limit));
    for (; next_step < news.steps.size() && news.steps[next_step].time <= row.time; ++next_step)
      online_.step({news.steps[next_step].time, double(news.steps[next_step].step)});
    if (const int64_t bytes = footprint(row); bytes > 0) {
      start_up_.see(row.time, row.rss > 0 ? double(row.rss - bytes + std::max<int64_t>(row.swap, 0)) : 0);
      if (first_sample_ < 0) first_sample_ = row.time;
      online_.loaded(start_up_.seems_over(row.time, first_sample_));
      online_.add({row.time, double(bytes)});
    }
  }
  for (; next_step < news.steps.size(); ++next_step)
    online_.step({news.steps[next_step].time, double(news.steps[next_step].step)});
  for (const StepRow& row : news.steps) {
    const StepRow before = step_;
    step_ = row;
    // A rate is unknown at a first row: the one before it still says most.
    if (std::isnan(step_.iterations_per_second)) {
      step_.iterations_per_second = before.iterations_per_second;
      step_.tokens_per_second = before.tokens_per_second;
    }
    has_step_ = true;
    time_ = std::max(time_, row.time);
  }
  if (!news.evaluations.empty()) evaluation_ = news.evaluations.back();
  if (!news.phases.empty()) phase_ = news.phases.back().name;
  for (const RunReader::Process& row : news.processes) {
    if (!std::isnan(row.ended)) {
      processes_.erase(row.id);
    } else if (processes_.size() < most_processes || processes_.count(row.id)) {
      CurrentProcess& process = processes_[row.id];
      process.pid = row.pid, process.parent = row.parent, process.name = row.name, process.role = row.role;
    }
  }
  for (const ProcessSampleRow& row : news.samples)
    if (auto at = processes_.find(row.process); at != processes_.end()) {
      at->second.bytes = std::max<int64_t>(footprint(row), 0);
      at->second.rss = std::max<int64_t>(row.rss, 0);
      at->second.threads = row.threads;
    }
  for (const RankSampleRow& row : news.rank_samples)
    if (ranks_.size() < most_processes || ranks_.count(row.rank)) ranks_[row.rank] = row;
  for (const RunReader::Event& event : news.events)
    if (const int64_t level = level_of(event); level >= 0) guard_level_ = level;
  if (!news.verdicts.empty() && news.verdicts.back().time > session_) read_final(news.verdicts.back());
}

void Current::read_final(const RunReader::Verdict& recorded) {
  final_ = verdict::read_judgement(recorded.json);
  ended_ = final_.has_value();
}

verdict::Judgement Current::judgement() const {
  return ended_ ? *final_ : verdict::Judgement{online_.current(), {}};
}

}  // namespace plimsoll::live
