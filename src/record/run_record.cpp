#include "record/run_record.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "base/units.hpp"
#include "platform/machine.hpp"
#include "record/database.hpp"
#include "record/schema.hpp"
#include "record/thinning.hpp"

namespace plimsoll {

namespace {

double monotonic() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string wall_clock() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* name_of(RunKind kind) {
  switch (kind) {
    case RunKind::watch:
      return "watch";
    case RunKind::guard:
      return "guard";
    case RunKind::train:
      break;
  }
  return "train";
}

// Pages stay few (128 in the pool), nothing is kept in memory beyond them, and only the log is synced now and
// then.
void set_pragmas(sqlite3* database) {
  execute(database, "PRAGMA page_size = 4096");
  execute(database, "PRAGMA journal_mode = WAL");
  execute(database, "PRAGMA synchronous = NORMAL");
  execute(database, "PRAGMA cache_size = 96");
  execute(database, "PRAGMA wal_autocheckpoint = 256");
  execute(database, "PRAGMA journal_size_limit = 4194304");
  execute(database, "PRAGMA secure_delete = OFF");
  execute(database, "PRAGMA temp_store = MEMORY");
}

bool is_empty(sqlite3* database) {
  try {
    return query_integer(database, "PRAGMA page_count") == 0;
  } catch (const Error&) {
    return false;
  }
}

void check_is_run_file(sqlite3* database, const std::filesystem::path& path) {
  int64_t magic = 0, version = 0;
  try {
    magic = query_integer(database, "PRAGMA application_id");
    version = query_integer(database, "PRAGMA user_version");
  } catch (const Error&) {
    magic = 0;
  }
  if (magic != run_application_id)
    fail_input("[record] {} is not a run file; give another path", path.string());
  if (version != run_format_version)
    fail_input("[record] {} has format {}, this version writes {}; give another path", path.string(), version,
               run_format_version);
}

// A file of an earlier version gets what records have learnt to say since.
void add_what_is_missing(sqlite3* database) {
  for (const char* name : {"cross_entropy", "distrust"})
    if (!has_column(database, "steps", name))
      execute(database, fmt::format("ALTER TABLE steps ADD COLUMN {} REAL", name).c_str());
  const std::string_view schema = run_schema;
  const size_t begin = schema.find("CREATE TABLE sites"), end = schema.find(';', begin);
  if (query_integer(database, "SELECT count(*) FROM sqlite_master WHERE name = 'sites'") == 0)
    execute(database, std::string(schema.substr(begin, end - begin)).c_str());
}

}  // namespace

struct RunRecord::State {
  State(const std::filesystem::path& file, const RecordOptions& how, int64_t step_done, bool fresh);
  ~State() { commit(); }

  void create(const RecordOptions& how);
  void forget_steps_after(int64_t step);
  double last_time();

  double now() const noexcept { return offset + (monotonic() - began); }
  double at(double time) const noexcept { return std::isnan(time) ? now() : time; }

  // Whether a row may be written now; begins a transaction if none is open.
  bool ready() noexcept;
  void wrote(int result) noexcept;
  void commit() noexcept;
  void stop(int result) noexcept;
  int64_t phase_id(std::string_view name) noexcept;

  std::filesystem::path path;
  RecordOptions options;
  Database database;
  double began = monotonic(), offset = 0;
  Statement begin, end, rollback, insert_configuration, insert_step, insert_evaluation, insert_memory,
      insert_process, update_role, update_ended, insert_sample, insert_phase, insert_phase_name, insert_event,
      insert_plan, delete_plan, insert_site, delete_sites, insert_verdict;
  std::unique_ptr<Thinning> thinning;

  bool open = false;     // a transaction
  unsigned pending = 0;  // rows in it
  double last_commit = 0;
  bool paused = false;
  double retry_at = 0;
  uint64_t dropped = 0, dropped_told = 0;
  char message[400] = {};

  int64_t next_process = 1;
  int64_t current_phase = unknown_count;
  struct PhaseName {
    size_t length = 0;
    char text[48];
  };
  std::array<PhaseName, 64> phase_names;  // a program with more shares the last
  size_t phase_count = 0;
};

RunRecord::State::State(const std::filesystem::path& file, const RecordOptions& how, int64_t step_done,
                        bool fresh)
    : path(file), options(how) {
  database = open_database(path, SQLITE_OPEN_READWRITE | (fresh ? SQLITE_OPEN_CREATE : 0));
  sqlite3* raw = database.get();
  if (!fresh) fresh = is_empty(raw);  // the process creating it was killed just then
  // Making the file waits for no disk: after a power failure in this moment there is nothing yet to lose.
  if (fresh) execute(raw, "PRAGMA synchronous = OFF");
  if (fresh)
    create(how);
  else
    check_is_run_file(raw, path);
  set_pragmas(raw);
  if (!fresh) {
    add_what_is_missing(raw);
    offset = last_time();
    forget_steps_after(step_done);
    next_process = query_integer(raw, "SELECT coalesce(max(id), 0) + 1 FROM processes");
    Statement names(raw, "SELECT name FROM phase_names ORDER BY id");
    while (phase_count < phase_names.size() && names.row()) {
      const std::string name = names.text_at(0);
      PhaseName& slot = phase_names[phase_count++];
      slot.length = std::min(name.size(), sizeof slot.text);
      std::memcpy(slot.text, name.data(), slot.length);
    }
  }
  Statement session(raw, "INSERT INTO sessions (started, version, time, step) VALUES (?, ?, ?, ?)");
  const std::string started = wall_clock();
  if (session.text(started).text(PLIMSOLL_VERSION).real(offset).integer(fresh ? 0 : step_done).run() !=
      SQLITE_OK)
    fail("[record] cannot write {}: {}", path.string(), sqlite3_errmsg(raw));

  begin = {raw, "BEGIN IMMEDIATE"};
  end = {raw, "COMMIT"};
  rollback = {raw, "ROLLBACK"};
  insert_configuration = {raw, "INSERT OR REPLACE INTO configuration VALUES (?, ?)"};
  insert_step = {
      raw,
      "INSERT INTO steps (step, time, loss, lr, tokens_per_second, iterations_per_second, grad_norm, "
      "cross_entropy, distrust) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  insert_evaluation = {raw, "INSERT INTO evaluations (step, time, loss, floor) VALUES (?, ?, ?, ?)"};
  insert_memory = {
      raw,
      "INSERT INTO memory (time, step, phase, rss, pss, private, shared, swap, processes, limit_bytes, "
      "available, gpu, pressure, pss_interpolated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  insert_process = {raw,
                    "INSERT INTO processes (id, pid, start_time, parent, name, arguments, role, first_seen) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"};
  update_role = {raw, "UPDATE processes SET role = ? WHERE id = ?"};
  update_ended = {raw, "UPDATE processes SET ended = ? WHERE id = ?"};
  insert_sample = {
      raw,
      "INSERT INTO process_samples (process, time, rss, pss, private, shared, swap, threads, fds, cpu, "
      "gpu, pss_interpolated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  insert_phase = {raw, "INSERT INTO phases (time, phase) VALUES (?, ?)"};
  insert_phase_name = {raw, "INSERT OR IGNORE INTO phase_names (id, name) VALUES (?, ?)"};
  insert_event = {raw, "INSERT INTO events (time, kind, text) VALUES (?, ?, ?)"};
  insert_plan = {raw, "INSERT INTO plan (name, role, offset, bytes, first, last) VALUES (?, ?, ?, ?, ?, ?)"};
  delete_plan = {raw, "DELETE FROM plan"};
  insert_site = {
      raw,
      "INSERT INTO sites (time, process, stack, bytes, blocks, bytes_per_second) VALUES (?, ?, ?, ?, "
      "?, ?)"};
  delete_sites = {raw, "DELETE FROM sites"};
  insert_verdict = {raw, "INSERT INTO verdicts (time, json) VALUES (?, ?)"};
  thinning = std::make_unique<Thinning>(raw, options.max_bytes);
  last_commit = now();
}

// All at once and before WAL mode: a run file is whole from its first moment, or empty.
void RunRecord::State::create(const RecordOptions& how) {
  sqlite3* raw = database.get();
  execute(raw, "PRAGMA page_size = 4096");
  execute(raw, "BEGIN IMMEDIATE");
  execute(raw, fmt::format("PRAGMA application_id = {}", run_application_id).c_str());
  execute(raw, fmt::format("PRAGMA user_version = {}", run_format_version).c_str());
  execute(raw, run_schema);
  Statement run(raw, "INSERT INTO run VALUES (?, ?, ?, ?)");
  const std::string started = wall_clock(),
                    machine = how.machine.empty() ? platform::machine_description() : how.machine;
  if (run.text(name_of(how.kind)).text(started).text(PLIMSOLL_VERSION).text(machine).run() != SQLITE_OK)
    fail("[record] cannot write {}: {}", path.string(), sqlite3_errmsg(raw));
  execute(raw, "COMMIT");
}

void RunRecord::State::forget_steps_after(int64_t step) {
  execute(database.get(),
          fmt::format("BEGIN IMMEDIATE; DELETE FROM steps WHERE step > {0}; DELETE FROM evaluations WHERE "
                      "step > {0}; DELETE FROM memory WHERE step > {0}; COMMIT",
                      step)
              .c_str());
}

double RunRecord::State::last_time() {
  Statement last(
      database.get(),
      "SELECT max(coalesce((SELECT max(time) FROM steps), 0), coalesce((SELECT max(time) FROM evaluations), "
      "0), coalesce((SELECT max(time) FROM memory), 0), coalesce((SELECT max(time) FROM process_samples), "
      "0), "
      "coalesce((SELECT max(time) FROM phases), 0), coalesce((SELECT max(time) FROM events), 0), "
      "coalesce((SELECT max(time) FROM sessions), 0))");
  return last.row() ? last.real_at(0) : 0;
}

bool RunRecord::State::ready() noexcept {
  if (paused && now() < retry_at) {
    ++dropped;
    return false;
  }
  if (open) return true;
  if (const int result = begin.run()) {
    stop(result);
    return false;
  }
  open = true;
  return true;
}

void RunRecord::State::wrote(int result) noexcept {
  if (result != SQLITE_OK) return stop(result);
  if (++pending >= options.rows_per_commit || now() - last_commit >= options.seconds_per_commit) commit();
}

void RunRecord::State::commit() noexcept {
  last_commit = now();
  if (!open) return;
  if (const int result = thinning->slice()) return stop(result);
  if (const int result = end.run()) return stop(result);
  open = false;
  pending = 0;
  if (!paused) return;
  // It works again: the gap is told in the record itself.
  paused = false;
  char text[500];
  const auto told =
      fmt::format_to_n(text, sizeof text, "{} rows were not recorded: {}", dropped - dropped_told, message);
  dropped_told = dropped;
  message[0] = 0;
  if (!ready()) return;
  wrote(insert_event.real(now()).text("record").text({text, std::min(told.size, sizeof text)}).run());
}

void RunRecord::State::stop(int result) noexcept {
  const auto written = fmt::format_to_n(message, sizeof message - 1,
                                        "[record] {}: {}; recording is paused and retried every {:g} s",
                                        path.c_str(), sqlite3_errstr(result), options.retry_seconds);
  message[std::min(written.size, sizeof message - 1)] = 0;
  dropped += pending + 1;
  pending = 0;
  open = false;
  paused = true;
  retry_at = now() + options.retry_seconds;
  if (!sqlite3_get_autocommit(database.get())) rollback.run();
  thinning->reset();
}

int64_t RunRecord::State::phase_id(std::string_view name) noexcept {
  name = name.substr(0, sizeof PhaseName::text);
  for (size_t i = 0; i < phase_count; ++i)
    if (name == std::string_view{phase_names[i].text, phase_names[i].length})
      return static_cast<int64_t>(i) + 1;
  if (phase_count == phase_names.size()) return static_cast<int64_t>(phase_count);
  PhaseName& slot = phase_names[phase_count++];
  slot.length = name.size();
  std::memcpy(slot.text, name.data(), name.size());
  return static_cast<int64_t>(phase_count);
}

RunRecord::RunRecord(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunRecord::RunRecord(RunRecord&&) noexcept = default;
RunRecord& RunRecord::operator=(RunRecord&&) noexcept = default;
RunRecord::~RunRecord() = default;

RunRecord RunRecord::create(const std::filesystem::path& path, const RecordOptions& options) {
  if (std::filesystem::exists(path))
    fail_input("[record] {} exists already; give another path or resume that run", path.string());
  return RunRecord(std::make_unique<State>(path, options, 0, true));
}

RunRecord RunRecord::resume(const std::filesystem::path& path, const RecordOptions& options, int64_t step) {
  return RunRecord(std::make_unique<State>(path, options, step, !std::filesystem::exists(path)));
}

double RunRecord::now() const noexcept { return state_->now(); }
void RunRecord::commit() noexcept { state_->commit(); }
std::string_view RunRecord::error() const noexcept { return state_->message; }
uint64_t RunRecord::dropped() const noexcept { return state_->dropped; }
uint64_t RunRecord::bytes() const noexcept { return state_->thinning->bytes(); }

void RunRecord::configuration(std::string_view key, std::string_view value) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_configuration.text(key).text(value).run());
}

void RunRecord::step(const StepRow& row) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_step.integer(row.step)
                    .real(state_->at(row.time))
                    .real(row.loss)
                    .real(row.learning_rate)
                    .real(row.tokens_per_second)
                    .real(row.iterations_per_second)
                    .real(row.gradient_norm)
                    .real(row.cross_entropy)
                    .real(row.distrust)
                    .run());
}

void RunRecord::evaluation(const EvaluationRow& row) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_evaluation.integer(row.step)
                    .real(state_->at(row.time))
                    .real(row.loss)
                    .real(row.floor)
                    .run());
}

void RunRecord::memory(const MemoryRow& row) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_memory.real(state_->at(row.time))
                    .count(row.step)
                    .count(state_->current_phase)
                    .count(row.rss)
                    .count(row.pss)
                    .count(row.private_bytes)
                    .count(row.shared)
                    .count(row.swap)
                    .count(row.processes)
                    .count(row.limit)
                    .count(row.available)
                    .count(row.gpu)
                    .real(row.pressure)
                    .integer(row.pss_interpolated)
                    .run());
}

int64_t RunRecord::process(const ProcessRow& row) noexcept {
  const int64_t id = state_->next_process++;
  if (!state_->ready()) return id;
  state_->wrote(state_->insert_process.integer(id)
                    .integer(row.pid)
                    .integer(row.start_time)
                    .count(row.parent)
                    .text(row.name)
                    .text(row.arguments)
                    .text(row.role)
                    .real(state_->at(row.first_seen))
                    .run());
  return id;
}

void RunRecord::process_role(int64_t id, std::string_view role) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->update_role.text(role).integer(id).run());
}

void RunRecord::process_ended(int64_t id, double time) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->update_ended.real(state_->at(time)).integer(id).run());
}

void RunRecord::process_sample(const ProcessSampleRow& row) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_sample.integer(row.process)
                    .real(state_->at(row.time))
                    .count(row.rss)
                    .count(row.pss)
                    .count(row.private_bytes)
                    .count(row.shared)
                    .count(row.swap)
                    .count(row.threads)
                    .count(row.descriptors)
                    .real(row.cpu)
                    .count(row.gpu)
                    .integer(row.pss_interpolated)
                    .run());
}

void RunRecord::phase(std::string_view name, double time) noexcept {
  const int64_t id = state_->phase_id(name);
  state_->current_phase = id;
  if (!state_->ready()) return;
  // The name is offered every time: the first offer may have been lost to a full disk.
  const State::PhaseName& known = state_->phase_names[static_cast<size_t>(id - 1)];
  if (const int result = state_->insert_phase_name.integer(id).text({known.text, known.length}).run())
    return state_->wrote(result);
  state_->wrote(state_->insert_phase.real(state_->at(time)).integer(id).run());
}

void RunRecord::event(std::string_view kind, std::string_view text, double time) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_event.real(state_->at(time)).text(kind).text(text).run());
}

void RunRecord::plan(const PlanRow& row) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_plan.text(row.name)
                    .text(row.role)
                    .integer(row.offset)
                    .integer(row.bytes)
                    .integer(row.first)
                    .integer(row.last)
                    .run());
}

void RunRecord::clear_plan() noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->delete_plan.run());
}

void RunRecord::site(const SiteRow& row) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_site.real(state_->at(row.time))
                    .count(row.process)
                    .text(row.stack)
                    .integer(row.bytes)
                    .count(row.blocks)
                    .real(row.bytes_per_second)
                    .run());
}

void RunRecord::clear_sites() noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->delete_sites.run());
}

void RunRecord::verdict(std::string_view json, double time) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->insert_verdict.real(state_->at(time)).text(json).run());
}

}  // namespace plimsoll
