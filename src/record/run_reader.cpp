#include "record/run_reader.hpp"

#include "record/run_file.hpp"

namespace plimsoll {

struct RunReader::State {
  RunFile file;
};

RunReader::RunReader(const std::filesystem::path& path) : state_(new State{RunFile(path)}) {}
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

RunReader::Run RunReader::run() const {
  const std::vector<Run> rows = state_->file.all<Run>("LIMIT 1");
  return rows.empty() ? Run{} : rows.front();
}

std::vector<std::pair<std::string, std::string>> RunReader::configuration() const {
  std::vector<std::pair<std::string, std::string>> settings;
  for (auto& row : state_->file.all<BasicSetting<std::string>>("ORDER BY key"))
    settings.emplace_back(std::move(row.key), std::move(row.value));
  return settings;
}

std::vector<RunReader::Memory> RunReader::memory() const {
  std::vector<Memory> rows;
  for (const MemoryRow& row : state_->file.all<MemoryRow>("ORDER BY id"))
    rows.push_back({row, state_->file.phase_name(row.phase_id)});
  return rows;
}

std::vector<RunReader::Phase> RunReader::phases() const {
  std::vector<Phase> rows;
  for (const PhaseRow& row : state_->file.all<PhaseRow>("ORDER BY id"))
    rows.push_back({row.time, state_->file.phase_name(row.phase_id)});
  return rows;
}

std::vector<RunReader::Session> RunReader::sessions() const {
  return state_->file.all<Session>("ORDER BY id");
}
std::vector<StepRow> RunReader::steps() const { return state_->file.all<StepRow>("ORDER BY id"); }
std::vector<EvaluationRow> RunReader::evaluations() const {
  return state_->file.all<EvaluationRow>("ORDER BY id");
}
std::vector<RunReader::Process> RunReader::processes() const {
  return state_->file.all<Process>("ORDER BY id");
}
std::vector<ProcessSampleRow> RunReader::process_samples() const {
  return state_->file.all<ProcessSampleRow>("ORDER BY id");
}
std::vector<RunReader::Event> RunReader::events() const { return state_->file.all<Event>("ORDER BY id"); }
std::vector<RunReader::PlanValue> RunReader::plan() const {
  return state_->file.all<PlanValue>("ORDER BY id");
}
std::vector<RunReader::Picture> RunReader::pictures() const {
  return state_->file.all<Picture>("ORDER BY number");
}
std::vector<RunReader::Answer> RunReader::answers() const { return state_->file.all<Answer>("ORDER BY id"); }
std::vector<RunReader::PlanRole> RunReader::plan_roles() const {
  return state_->file.all<PlanRole>("ORDER BY id");
}
std::vector<RunReader::Site> RunReader::sites() const {
  return state_->file.all<Site>("WHERE bytes > 0 ORDER BY bytes DESC, id");
}
std::vector<RunReader::Site> RunReader::sites_and_freed() const {
  return state_->file.all<Site>("ORDER BY bytes DESC, id");
}
std::vector<RunReader::Verdict> RunReader::verdicts() const {
  return state_->file.all<Verdict>("ORDER BY id");
}

}  // namespace plimsoll
