#include "diagnose/recorded_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/footprint.hpp"
#include "base/json.hpp"
#include "base/mask.hpp"

namespace plimsoll::diagnose {
namespace {

uint64_t known(int64_t count) { return count < 0 ? 0 : uint64_t(count); }

// Gives the history snapshots again. A process is recorded when it moved, so its last values hold until the
// next.
class Replay {
 public:
  explicit Replay(const RunRows& run) : rows_(run.processes), samples_(run.samples) {
    for (size_t i = 0; i < rows_.size(); ++i) index_[rows_[i].id] = i;
  }

  observe::Snapshot at(double time) {
    for (; next_ < samples_.size() && samples_[next_].time <= time; ++next_) take(samples_[next_]);
    observe::Snapshot now;
    now.time = time;
    for (auto at = alive_.begin(); at != alive_.end();) {
      if (rows_[at->first].ended <= time) {
        now.ended.push_back(at->second.id);
        at = alive_.erase(at);
      } else {
        now.processes.push_back((at++)->second);
      }
    }
    // A program that became another by exec ends as a row and lives on as a process.
    std::erase_if(now.ended, [&](const proc::ProcessId& id) {
      return std::any_of(now.processes.begin(), now.processes.end(),
                         [&](const observe::Process& p) { return p.id == id; });
    });
    return now;
  }

 private:
  void take(const ProcessSampleRow& sample) {
    const auto found = index_.find(sample.process);
    if (found == index_.end()) return;
    const RunReader::Process& row = rows_[found->second];
    observe::Process& process = alive_[found->second];
    process.id = {int(row.pid), known(row.start_time)};
    const auto parent = index_.find(row.parent);
    process.parent = parent == index_.end() ? 0 : int(rows_[parent->second].pid);
    process.name = row.name, process.command = row.arguments;
    process.rss = known(sample.rss), process.swap = known(sample.swap);
    process.owned = known(footprint(sample)) - process.swap;
    process.private_bytes = known(sample.private_bytes), process.shared = known(sample.shared);
    process.threads = int(known(sample.threads)), process.descriptors = int(sample.descriptors);
    process.cpu_seconds = std::isfinite(sample.cpu) ? sample.cpu : 0;
  }

  const std::vector<RunReader::Process>& rows_;
  const std::vector<ProcessSampleRow>& samples_;
  std::map<int64_t, size_t> index_;           // by the file's id
  std::map<size_t, observe::Process> alive_;  // by row
  size_t next_ = 0;
};

// A record may be anybody's: its texts are escaped as they are read.
std::optional<verdict::Judgement> told_by_profile(const std::string& json) {
  const nlohmann::json whole = parse_json(json);
  if (!whole.is_object() || !whole.contains("answer")) return std::nullopt;
  auto told = verdict::read_judgement(json);
  if (!told) return std::nullopt;
  verdict::Verdict& v = told->verdict;
  for (std::string* text : {&v.sentence, &v.explanation, &v.step_unit, &v.spikes.phase, &told->next})
    *text = escape(*text);
  if (told->culprit)
    told->culprit->name = escape(told->culprit->name), told->culprit->role = escape(told->culprit->role);
  return told;
}

// The last process that had this number.
proc::ProcessId id_of(int pid, const History& history) {
  proc::ProcessId found{};
  for (const auto& [id, life] : history.processes())
    if (id.pid == pid && id.start_ticks >= found.start_ticks) found = id;
  return found;
}

}  // namespace

bool is_run_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // what a pipe gives, it gives once
  std::ifstream file(path, std::ios::binary);
  char begin[15] = {};
  return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) == "SQLite format 3";
}

RecordedRun recorded_run(const RunRows& rows) {
  RecordedRun run;
  const double from = rows.session_begin();
  Replay replay(rows);
  for (const RunReader::Memory& row : rows.memory) {
    const uint64_t bytes = known(footprint(row));
    if (row.time < from || bytes == 0) continue;
    run.tree.add(row.time, bytes);
    run.until = row.time;
    if (row.rss > 0) run.start_up.see(row.time, double(row.rss) - double(bytes) + double(known(row.swap)));
    if (row.limit > 0) run.limit = double(row.limit);
    run.history.add(replay.at(row.time));
  }
  for (const StepRow& row : rows.steps)
    if (row.time >= from) run.steps.see(row.time, double(row.step));
  for (const RunReader::Phase& phase : rows.phases) {
    if (!run.phases.empty()) run.phases.back().end = phase.time;
    run.phases.push_back({phase.time, run.until, phase.name});
  }
  // A watch that saw the end of the program says up to when it judged.
  if (!rows.verdicts.empty() && rows.verdicts.back().time > from) {
    run.ended = rows.verdicts.back().time < run.until;
    run.until = std::min(run.until, rows.verdicts.back().time);
    run.told = told_by_profile(rows.verdicts.back().json);
  }
  for (const auto& [key, value] : rows.configuration) {
    if (key == "program_ended") run.ended = true;
    if (key == "step_unit" && value == "logged step") run.step_unit = "logged step";
    if (key == "first_epoch_end") run.first_epoch_end = std::strtod(value.c_str(), nullptr);
  }
  return run;
}

RecordedRun read_run(const std::string& path) {
  RecordedRun run = recorded_run(read_run_rows(path));
  if (run.tree.size() == 0)
    fail_input("{}: contains no memory samples; record a run with `plimsoll train` or `plimsoll watch --out`",
               path);
  return run;
}

verdict::Options options_of(const RecordedRun& run, double limit) {
  verdict::Options options;
  options.limit_bytes = limit > 0 ? limit : run.limit;
  options.steps = run.steps.marks();
  options.phases = run.phases;
  options.ended = run.ended;
  options.loaded = run.start_up.over(run.until, run.history.first_time());
  options.step_unit = run.step_unit;
  options.first_epoch_end = run.first_epoch_end;
  return options;
}

Judgement judge_run(const RecordedRun& run, double limit) {
  Judgement judgement = judge_tree(run.tree, run.history, options_of(run, limit), run.until);
  if (!run.told) return judgement;
  // Another line changes when it is reached; that is said where the memory alone tells the same.
  const bool same = run.told->verdict.kind == judgement.verdict.kind;
  const verdict::Verdict by_memory = judgement.verdict;
  static_cast<verdict::Judgement&>(judgement) = *run.told;
  if (limit > 0 && same) judgement.verdict = by_memory;
  if (limit > 0 && !same) judgement.verdict.limit_bytes = limit, judgement.verdict.seconds_to_limit.reset();
  if (judgement.culprit) judgement.culprit_id = id_of(judgement.culprit->pid, run.history);
  return judgement;
}

}  // namespace plimsoll::diagnose
