#include "report/run_data.hpp"

#include <algorithm>
#include <filesystem>

#include "diagnose/recorded_run.hpp"
#include "report/judgement_text.hpp"

namespace plimsoll::report {
namespace {

// Rows of a damaged or foreign file may lie anywhere in time; charts need order.
template <typename Row>
void put_in_order(std::vector<Row>& rows) {
  std::erase_if(rows, [](const Row& row) { return !std::isfinite(row.time); });
  const auto earlier = [](const Row& a, const Row& b) { return a.time < b.time; };
  if (!std::is_sorted(rows.begin(), rows.end(), earlier)) std::stable_sort(rows.begin(), rows.end(), earlier);
}

// A run that was killed has no roles in its file; the judgement has found them anew.
void fill_roles(RunData& data, const diagnose::Roles& roles) {
  for (RunReader::Process& process : data.processes) {
    const auto role = roles.role.find({int(process.pid), uint64_t(std::max<int64_t>(0, process.start_time))});
    if (process.role.empty() && role != roles.role.end()) process.role = diagnose::role_name(role->second);
  }
}

}  // namespace

RunData read_run_data(const std::string& path, double line) {
  const RunReader reader(path);
  RunData data;
  data.name = std::filesystem::path(path).filename().string();
  data.run = reader.run();
  data.sessions = reader.sessions();
  data.configuration = reader.configuration();
  data.memory = reader.memory();
  data.processes = reader.processes();
  data.samples = reader.process_samples();
  data.phases = reader.phases();
  data.events = reader.events();
  data.steps = reader.steps();
  data.evaluations = reader.evaluations();
  data.plan = reader.plan();
  data.sites = reader.sites();
  put_in_order(data.memory);
  put_in_order(data.samples);
  put_in_order(data.phases);
  put_in_order(data.events);
  put_in_order(data.steps);
  put_in_order(data.evaluations);
  data.from = data.sessions.size() > 1 ? data.sessions.back().time : 0;
  data.until = data.memory.empty() ? 0 : data.memory.back().time;
  data.line = line;
  if (std::none_of(data.memory.begin(), data.memory.end(),
                   [&](const auto& row) { return row.time >= data.from && footprint(row) > 0; }))
    return data;  // nothing to judge
  const diagnose::RecordedRun run = diagnose::read_run(path);
  const diagnose::Judgement judgement = diagnose::judge_run(run, line);
  data.verdict = final_json(judgement, run.history, run.until, false);
  data.line = judgement.verdict.limit_bytes;
  data.until = run.until;
  fill_roles(data, judgement.roles);
  return data;
}

}  // namespace plimsoll::report
