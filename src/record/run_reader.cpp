#include "record/run_reader.hpp"

#include <cmath>

#include "base/error.hpp"
#include "record/database.hpp"
#include "record/schema.hpp"

namespace plimsoll {

struct RunReader::State {
  std::string path;
  Database database;

  // Calls `each` for every row of the query, which takes at most one parameter, never 0.
  template <typename Each>
  void query(const char* sql, Each each, int64_t parameter = 0) const {
    Statement statement(database.get(), sql);
    if (parameter) statement.integer(parameter);
    while (statement.row()) each(statement);
    if (statement.done() != SQLITE_OK)
      fail("[record] cannot read {}: {}; the file may be damaged", path, sqlite3_errmsg(database.get()));
  }
};

namespace {

// What a percent-encoded SQLite URI needs beyond plain characters.
std::string uri_of(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      uri += c;
  }
  return uri;
}

ProcessSampleRow sample_from(const Statement& row) {
  return {.process = row.integer_at(0),
          .time = row.real_at(1),
          .rss = row.count_at(2),
          .pss = row.count_at(3),
          .private_bytes = row.count_at(4),
          .shared = row.count_at(5),
          .swap = row.count_at(6),
          .threads = row.count_at(7),
          .descriptors = row.count_at(8),
          .cpu = row.real_at(9),
          .gpu = row.count_at(10),
          .pss_interpolated = row.integer_at(11) != 0};
}

}  // namespace

Database open_run_file(const std::filesystem::path& path) {
  Database database;
  if (!std::filesystem::is_regular_file(path))
    fail_input("[record] there is no run file at {}", path.string());
  int64_t magic = 0, version = 0;
  const auto read_magic = [&](const std::string& uri) {
    database = open_database(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    execute(database.get(), "PRAGMA cache_size = 64");
    magic = query_integer(database.get(), "PRAGMA application_id");
    version = query_integer(database.get(), "PRAGMA user_version");
    query_integer(database.get(), "SELECT count(*) FROM sqlite_master");
  };
  const std::string uri = uri_of(path);
  try {
    read_magic(uri);
  } catch (const Error&) {
    // A finished file in a folder that may not be written: SQLite cannot make its shared index there, nor is
    // one needed.
    try {
      if (!std::filesystem::exists(path.string() + "-wal")) read_magic(uri + "?immutable=1");
    } catch (const Error&) {
      magic = 0;
    }
  }
  if (magic != run_application_id)
    fail_input("[record] {} is not a run file of plimsoll or cannot be read", path.string());
  if (version != run_format_version)
    fail_input("[record] {} has format {}, this version reads {}", path.string(), version,
               run_format_version);
  return database;
}

RunReader::RunReader(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  state_->path = path.string();
  state_->database = open_run_file(path);
}

RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

RunReader::Run RunReader::run() const {
  Run run;
  state_->query("SELECT kind, started, version, machine FROM run", [&](const Statement& row) {
    run = {row.text_at(0), row.text_at(1), row.text_at(2), row.text_at(3)};
  });
  return run;
}

std::vector<RunReader::Session> RunReader::sessions() const {
  std::vector<Session> rows;
  state_->query("SELECT started, version, time, step FROM sessions ORDER BY id", [&](const Statement& row) {
    rows.push_back({row.text_at(0), row.text_at(1), row.real_at(2), row.integer_at(3)});
  });
  return rows;
}

std::vector<std::pair<std::string, std::string>> RunReader::configuration() const {
  std::vector<std::pair<std::string, std::string>> rows;
  state_->query("SELECT key, value FROM configuration ORDER BY key",
                [&](const Statement& row) { rows.emplace_back(row.text_at(0), row.text_at(1)); });
  return rows;
}

std::vector<StepRow> RunReader::steps() const {
  std::vector<StepRow> rows;
  // Files of earlier versions do not know the parts of a loss.
  const bool parts = has_column(state_->database.get(), "steps", "distrust");
  state_->query(
      parts ? "SELECT step, time, loss, lr, tokens_per_second, iterations_per_second, grad_norm, "
              "cross_entropy, distrust FROM steps ORDER BY id"
            : "SELECT step, time, loss, lr, tokens_per_second, iterations_per_second, grad_norm, NULL, NULL "
              "FROM steps ORDER BY id",
      [&](const Statement& row) {
        rows.push_back({row.integer_at(0), row.real_at(1), row.real_at(2), row.real_at(3), row.real_at(4),
                        row.real_at(5), row.real_at(6), row.real_at(7), row.real_at(8)});
      });
  return rows;
}

std::vector<EvaluationRow> RunReader::evaluations() const {
  std::vector<EvaluationRow> rows;
  state_->query("SELECT step, time, loss, floor FROM evaluations ORDER BY id", [&](const Statement& row) {
    rows.push_back({row.integer_at(0), row.real_at(1), row.real_at(2), row.real_at(3)});
  });
  return rows;
}

std::vector<RunReader::Memory> RunReader::memory() const {
  std::vector<Memory> rows;
  state_->query(
      "SELECT time, step, rss, pss, private, shared, swap, processes, limit_bytes, available, gpu, pressure, "
      "pss_interpolated, coalesce((SELECT name FROM phase_names WHERE id = phase), '') FROM memory ORDER BY "
      "id",
      [&](const Statement& row) {
        Memory one;
        one.time = row.real_at(0);
        one.step = row.count_at(1);
        one.rss = row.count_at(2);
        one.pss = row.count_at(3);
        one.private_bytes = row.count_at(4);
        one.shared = row.count_at(5);
        one.swap = row.count_at(6);
        one.processes = row.count_at(7);
        one.limit = row.count_at(8);
        one.available = row.count_at(9);
        one.gpu = row.count_at(10);
        one.pressure = row.real_at(11);
        one.pss_interpolated = row.integer_at(12) != 0;
        one.phase = row.text_at(13);
        rows.push_back(std::move(one));
      });
  return rows;
}

std::vector<RunReader::Process> RunReader::processes() const {
  std::vector<Process> rows;
  state_->query(
      "SELECT id, pid, start_time, parent, name, arguments, role, first_seen, ended FROM processes ORDER BY "
      "id",
      [&](const Statement& row) {
        rows.push_back({row.integer_at(0), row.integer_at(1), row.integer_at(2), row.count_at(3),
                        row.text_at(4), row.text_at(5), row.text_at(6), row.real_at(7), row.real_at(8)});
      });
  return rows;
}

std::vector<ProcessSampleRow> RunReader::process_samples() const {
  std::vector<ProcessSampleRow> rows;
  state_->query(
      "SELECT process, time, rss, pss, private, shared, swap, threads, fds, cpu, gpu, pss_interpolated FROM "
      "process_samples ORDER BY id",
      [&](const Statement& row) { rows.push_back(sample_from(row)); });
  return rows;
}

std::vector<ProcessSampleRow> RunReader::process_samples(int64_t id) const {
  std::vector<ProcessSampleRow> rows;
  state_->query(
      "SELECT process, time, rss, pss, private, shared, swap, threads, fds, cpu, gpu, pss_interpolated FROM "
      "process_samples WHERE process = ? ORDER BY id",
      [&](const Statement& row) { rows.push_back(sample_from(row)); }, id);
  return rows;
}

std::vector<RunReader::Phase> RunReader::phases() const {
  std::vector<Phase> rows;
  state_->query(
      "SELECT time, coalesce((SELECT name FROM phase_names n WHERE n.id = phase), '') FROM phases ORDER BY "
      "id",
      [&](const Statement& row) {
        rows.push_back({row.real_at(0), row.text_at(1)});
      });
  return rows;
}

std::vector<RunReader::Event> RunReader::events() const {
  std::vector<Event> rows;
  state_->query("SELECT time, kind, text FROM events ORDER BY id", [&](const Statement& row) {
    rows.push_back({row.real_at(0), row.text_at(1), row.text_at(2)});
  });
  return rows;
}

std::vector<RunReader::PlanValue> RunReader::plan() const {
  std::vector<PlanValue> rows;
  state_->query("SELECT name, role, offset, bytes, first, last FROM plan ORDER BY id",
                [&](const Statement& row) {
                  rows.push_back({row.text_at(0), row.text_at(1), row.integer_at(2), row.integer_at(3),
                                  row.integer_at(4), row.integer_at(5)});
                });
  return rows;
}

std::vector<RunReader::Site> RunReader::sites() const {
  std::vector<Site> rows;
  // Early files of this format have no such table.
  if (query_integer(state_->database.get(), "SELECT count(*) FROM sqlite_master WHERE name = 'sites'") == 0)
    return rows;
  state_->query(
      "SELECT time, process, stack, bytes, blocks, bytes_per_second FROM sites ORDER BY bytes DESC, id",
      [&](const Statement& row) {
        rows.push_back({row.real_at(0), row.count_at(1), row.text_at(2), row.integer_at(3), row.count_at(4),
                        row.real_at(5)});
      });
  return rows;
}

std::vector<RunReader::Verdict> RunReader::verdicts() const {
  std::vector<Verdict> rows;
  state_->query("SELECT time, json FROM verdicts ORDER BY id", [&](const Statement& row) {
    rows.push_back({row.real_at(0), row.text_at(1)});
  });
  return rows;
}

RunReader::Series RunReader::memory_series() const {
  Series series;
  state_->query(
      "SELECT time, coalesce(pss, rss) FROM memory WHERE coalesce(pss, rss) IS NOT NULL ORDER BY id",
      [&](const Statement& row) {
        series.time.push_back(row.real_at(0));
        series.bytes.push_back(row.real_at(1));
      });
  return series;
}

RunReader::Series RunReader::process_series(int64_t id) const {
  Series series;
  state_->query(
      "SELECT time, coalesce(pss, rss) FROM process_samples WHERE process = ? AND coalesce(pss, rss) IS NOT "
      "NULL "
      "ORDER BY id",
      [&](const Statement& row) {
        series.time.push_back(row.real_at(0));
        series.bytes.push_back(row.real_at(1));
      },
      id);
  return series;
}

}  // namespace plimsoll
