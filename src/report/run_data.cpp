#include "report/run_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/recorded_run.hpp"

namespace plimsoll::report {
namespace {

// A run that was killed has no roles in its file; the judgement has found them anew.
void fill_roles(RunData& data, const diagnose::Roles& roles) {
  for (RunReader::Process& process : data.processes) {
    const auto role = roles.role.find({int(process.pid), uint64_t(std::max<int64_t>(0, process.start_time))});
    if (process.role.empty() && role != roles.role.end()) process.role = diagnose::role_name(role->second);
  }
}

// The memory of the record is rank 0's: where another one leaks, the verdict is about that.
void take_worst_rank(RunData& data) {
  if (data.ranks.leaks == 0 || data.ranks.worst == 0) return;
  const RankRow& worst = data.ranks.rows[data.ranks.worst];
  data.judgement = verdict::Judgement{worst.verdict, {}};
  verdict::Verdict& said = data.judgement->verdict;
  said.sentence = fmt::format("R{}: {}", worst.name().substr(1), said.sentence);
}

}  // namespace

RunData read_run_data(const std::string& path, double line) {
  RunData data;
  static_cast<RunRows&>(data) = read_run_rows(path);
  data.name = run_name(path);
  data.from = data.session_begin();
  data.until = data.memory.empty() ? 0 : data.memory.back().time;
  data.line = line;
  const diagnose::RecordedRun run = diagnose::recorded_run(data);
  if (run.tree.size() == 0) return data;  // nothing to judge
  const diagnose::Judgement judgement = diagnose::judge_run(run, line);
  data.judgement = judgement;
  data.line = judgement.verdict.limit_bytes;
  data.until = run.until;
  fill_roles(data, judgement.roles);
  data.ranks = view_ranks(data, true, data.line);
  take_worst_rank(data);
  return data;
}

}  // namespace plimsoll::report
