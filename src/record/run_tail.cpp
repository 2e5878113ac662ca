#include "record/run_tail.hpp"

#include <optional>

#include "base/error.hpp"
#include "record/run_file.hpp"

namespace plimsoll {

struct RunTail::State {
  explicit State(const std::filesystem::path& path) : file(path) {
    if (file.has_table(Table<RankSampleRow>::name)) ranks.emplace(file);
    if (file.has_table(Table<RunReader::Answer>::name)) answers.emplace(file);
    if (file.has_table(Table<RunReader::Picture>::name)) pictures.emplace(file);
  }

  RunFile file;
  template <typename Row>
  struct Followed {
    explicit Followed(const RunFile& file) : select(file.get(), "WHERE id > ? ORDER BY id LIMIT ?") {}
    Select<Row> select;
    int64_t cursor = 0;  // the last id seen
  };
  Followed<StepRow> steps{file};
  Followed<EvaluationRow> evaluations{file};
  Followed<MemoryRow> memory{file};
  Followed<ProcessSampleRow> samples{file};
  Followed<PhaseRow> phases{file};
  Followed<RunReader::Event> events{file};
  Followed<RunReader::Verdict> verdicts{file};
  Followed<RunReader::Process> processes{file};
  // Early files have no such tables.
  std::optional<Followed<RankSampleRow>> ranks;
  std::optional<Followed<RunReader::Answer>> answers;
  std::optional<Followed<RunReader::Picture>> pictures;
  // Rows of processes change: each living one is looked at every time.
  Select<RunReader::Process> process{file.get(), "WHERE id = ?"};
  Statement version{file.get(), "PRAGMA data_version"};
  int64_t seen_version = -1;
  std::map<int64_t, std::string> living;  // id and role as last seen

  int64_t data_version() {
    const int64_t value = version.row() ? version.integer_at(0) : -1;
    version.done();
    return value;
  }

  template <typename Row>
  std::vector<Row> read(Followed<Row>& table, size_t most) {
    std::vector<Row> rows;
    table.select.statement().integer(table.cursor).integer(int64_t(most));
    file.each(table.select, [&](int64_t id, Row row) {
      table.cursor = id;
      rows.push_back(std::move(row));
    });
    return rows;
  }
  std::vector<RunReader::Process> read_processes(size_t most);
};

std::vector<RunReader::Process> RunTail::State::read_processes(size_t most) {
  std::vector<RunReader::Process> rows;
  for (auto known = living.begin(); known != living.end();) {
    bool ended = true;  // also where the row is gone
    process.statement().integer(known->first);
    file.each(process, [&](int64_t, RunReader::Process row) {
      ended = !std::isnan(row.ended);
      if (!ended && row.role == known->second) return;
      known->second = row.role;
      rows.push_back(std::move(row));
    });
    known = ended ? living.erase(known) : std::next(known);
  }
  for (RunReader::Process& row : read(processes, most)) {
    if (std::isnan(row.ended)) living[row.id] = row.role;
    rows.push_back(std::move(row));
  }
  return rows;
}

RunTail::RunTail(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
RunTail::RunTail(RunTail&&) noexcept = default;
RunTail& RunTail::operator=(RunTail&&) noexcept = default;
RunTail::~RunTail() = default;

RunTail::News RunTail::next(size_t most) {
  State& state = *state_;
  News news;
  const int64_t version = state.data_version();
  if (version == state.seen_version) return news;
  execute(state.file.get(), "BEGIN");
  bool cut = false;
  const auto counted = [&](auto rows) {
    news.rows += rows.size();
    cut |= rows.size() >= most;
    return rows;
  };
  try {
    news.processes = counted(state.read_processes(most));
    news.steps = counted(state.read(state.steps, most));
    news.evaluations = counted(state.read(state.evaluations, most));
    for (const MemoryRow& row : counted(state.read(state.memory, most)))
      news.memory.push_back({row, state.file.phase_name(row.phase_id)});
    news.samples = counted(state.read(state.samples, most));
    for (const PhaseRow& row : counted(state.read(state.phases, most)))
      news.phases.push_back({row.time, state.file.phase_name(row.phase_id)});
    news.events = counted(state.read(state.events, most));
    if (state.ranks) news.rank_samples = counted(state.read(*state.ranks, most));
    if (state.answers) news.answers = counted(state.read(*state.answers, most));
    if (state.pictures && !news.answers.empty()) {
      state.pictures->cursor = 0;  // a resumed run has replaced them
      news.pictures = state.read(*state.pictures, most);
    }
    // A verdict is on everything before it: it comes when all of that has been given.
    if (!cut) news.verdicts = counted(state.read(state.verdicts, most));
  } catch (...) {
    execute(state.file.get(), "COMMIT");
    throw;
  }
  execute(state.file.get(), "COMMIT");
  // What a bound cut off is asked for at the next call, whether or not the file changes until then.
  state.seen_version = cut ? -1 : version;
  return news;
}

}  // namespace plimsoll
