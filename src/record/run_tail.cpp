#include "record/run_tail.hpp"

#include "base/error.hpp"
#include "record/database.hpp"

namespace plimsoll {

struct RunTail::State {
  explicit State(const std::filesystem::path& file) : path(file.string()), database(open_run_file(file)) {}

  std::string path;
  Database database;
  sqlite3* raw = database.get();
  struct Table {
    Statement select;
    int64_t cursor = 0;  // the last id seen
  };
  Table steps{
      {raw,
       "SELECT id, step, time, loss, lr, tokens_per_second, iterations_per_second, grad_norm FROM steps "
       "WHERE id > ? ORDER BY id LIMIT ?"}};
  Table evaluations{
      {raw, "SELECT id, step, time, loss, floor FROM evaluations WHERE id > ? ORDER BY id LIMIT ?"}};
  Table memory{
      {raw,
       "SELECT m.id, m.time, m.step, n.name, m.rss, m.pss, m.private, m.shared, m.swap, m.processes, "
       "m.limit_bytes, m.available, m.gpu, m.pressure, m.pss_interpolated FROM memory m LEFT JOIN "
       "phase_names n "
       "ON n.id = m.phase WHERE m.id > ? ORDER BY m.id LIMIT ?"}};
  Table samples{{raw,
                 "SELECT id, process, time, rss, pss, private, shared, swap, threads, fds, cpu, gpu, "
                 "pss_interpolated FROM "
                 "process_samples WHERE id > ? ORDER BY id LIMIT ?"}};
  Table phases{
      {raw,
       "SELECT p.id, p.time, n.name FROM phases p JOIN phase_names n ON n.id = p.phase WHERE p.id > ? "
       "ORDER BY p.id LIMIT ?"}};
  Table events{{raw, "SELECT id, time, kind, text FROM events WHERE id > ? ORDER BY id LIMIT ?"}};
  Table verdicts{{raw, "SELECT id, time, json FROM verdicts WHERE id > ? ORDER BY id LIMIT ?"}};
  // Rows of processes change: each living one is looked at every time.
  static constexpr const char* process_columns =
      "SELECT id, pid, start_time, parent, name, arguments, role, first_seen, ended FROM processes ";
  Table processes{{raw, (std::string(process_columns) + "WHERE id > ? ORDER BY id LIMIT ?").c_str()}};
  Statement process{raw, (std::string(process_columns) + "WHERE id = ?").c_str()};
  Statement version{raw, "PRAGMA data_version"};
  int64_t seen_version = -1;
  std::map<int64_t, std::string> living;  // id and role as last seen

  int64_t data_version() {
    const int64_t value = version.row() ? version.integer_at(0) : -1;
    version.done();
    return value;
  }

  template <typename Take>
  size_t read(Table& table, size_t most, Take take) {
    size_t rows = 0;
    table.select.integer(table.cursor).integer(int64_t(most));
    while (table.select.row()) {
      table.cursor = table.select.integer_at(0);
      take(table.select);
      ++rows;
    }
    check(table.select.done());
    return rows;
  }
  size_t read_processes(std::vector<RunReader::Process>& rows, size_t most);
  void check(int result) const {
    if (result != SQLITE_OK) fail("[record] cannot read {}: {}", path, sqlite3_errmsg(raw));
  }
};

namespace {

RunReader::Process process_from(const Statement& row) {
  return {.id = row.integer_at(0),
          .pid = row.integer_at(1),
          .start_time = row.integer_at(2),
          .parent = row.count_at(3),
          .name = row.text_at(4),
          .arguments = row.text_at(5),
          .role = row.text_at(6),
          .first_seen = row.real_at(7),
          .ended = row.real_at(8)};
}

}  // namespace

size_t RunTail::State::read_processes(std::vector<RunReader::Process>& rows, size_t most) {
  for (auto known = living.begin(); known != living.end();) {
    process.integer(known->first);
    bool ended = true;  // also where the row is gone
    if (process.row()) {
      RunReader::Process row = process_from(process);
      ended = !std::isnan(row.ended);
      if (ended || row.role != known->second) {
        known->second = row.role;
        rows.push_back(std::move(row));
      }
    }
    check(process.done());
    known = ended ? living.erase(known) : std::next(known);
  }
  read(processes, most, [&](const Statement& row) {
    rows.push_back(process_from(row));
    if (std::isnan(rows.back().ended)) living[rows.back().id] = rows.back().role;
  });
  return rows.size();
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
  execute(state.raw, "BEGIN");
  bool cut = false;
  const auto count = [&](size_t rows) {
    news.rows += rows;
    cut |= rows >= most;
  };
  try {
    count(state.read_processes(news.processes, most));
    count(state.read(state.steps, most, [&](const Statement& row) {
      news.steps.push_back({.step = row.integer_at(1),
                            .time = row.real_at(2),
                            .loss = row.real_at(3),
                            .learning_rate = row.real_at(4),
                            .tokens_per_second = row.real_at(5),
                            .iterations_per_second = row.real_at(6),
                            .gradient_norm = row.real_at(7)});
    }));
    count(state.read(state.evaluations, most, [&](const Statement& row) {
      news.evaluations.push_back({.step = row.integer_at(1),
                                  .time = row.real_at(2),
                                  .loss = row.real_at(3),
                                  .floor = row.real_at(4)});
    }));
    count(state.read(state.memory, most, [&](const Statement& row) {
      RunReader::Memory memory;
      memory.time = row.real_at(1);
      memory.step = row.count_at(2);
      memory.phase = row.text_at(3);
      memory.rss = row.count_at(4), memory.pss = row.count_at(5);
      memory.private_bytes = row.count_at(6), memory.shared = row.count_at(7), memory.swap = row.count_at(8);
      memory.processes = row.count_at(9), memory.limit = row.count_at(10),
      memory.available = row.count_at(11);
      memory.gpu = row.count_at(12), memory.pressure = row.real_at(13);
      memory.pss_interpolated = row.integer_at(14) != 0;
      news.memory.push_back(std::move(memory));
    }));
    count(state.read(state.samples, most, [&](const Statement& row) {
      news.samples.push_back({.process = row.integer_at(1),
                              .time = row.real_at(2),
                              .rss = row.count_at(3),
                              .pss = row.count_at(4),
                              .private_bytes = row.count_at(5),
                              .shared = row.count_at(6),
                              .swap = row.count_at(7),
                              .threads = row.count_at(8),
                              .descriptors = row.count_at(9),
                              .cpu = row.real_at(10),
                              .gpu = row.count_at(11),
                              .pss_interpolated = row.integer_at(12) != 0});
    }));
    count(state.read(state.phases, most, [&](const Statement& row) {
      news.phases.push_back({row.real_at(1), row.text_at(2)});
    }));
    count(state.read(state.events, most, [&](const Statement& row) {
      news.events.push_back({row.real_at(1), row.text_at(2), row.text_at(3)});
    }));
    // A verdict is on everything before it: it comes when all of that has been given.
    if (!cut)
      news.rows += state.read(state.verdicts, most, [&](const Statement& row) {
        news.verdicts.push_back({row.real_at(1), row.text_at(2)});
      });
  } catch (...) {
    execute(state.raw, "COMMIT");
    throw;
  }
  execute(state.raw, "COMMIT");
  // What a bound cut off is asked for at the next call, whether or not the file changes until then.
  state.seen_version = cut ? -1 : version;
  return news;
}

}  // namespace plimsoll
