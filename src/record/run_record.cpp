#include "record/run_record.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "platform/machine.hpp"
#include "record/database.hpp"
#include "record/run_file.hpp"
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
  check_tables(database, path.string());
}

// A file of an earlier version gets what records have learnt to say since.
void add_what_is_missing(sqlite3* database) {
  for_each_table([&]<typename Row>() {
    using Of = Table<Row>;
    if (!has_column(database, Of::name, nullptr)) return execute(database, create_sql<Row>().c_str());
    for_each_column<Row>([&](const auto& column) {
      if (!has_column(database, Of::name, column.name))
        execute(database,
                fmt::format("ALTER TABLE {} ADD COLUMN {}", Of::name, definition_of(column)).c_str());
    });
  });
}

// A new file that cannot be finished, as on a full disk, does not stay behind.
struct Unfinished {
  std::filesystem::path path;
  bool finished = false;
  ~Unfinished() {
    std::error_code ignored;
    if (!finished) std::filesystem::remove(path, ignored);
  }
};

}  // namespace

struct RunRecord::State {
  State(const std::filesystem::path& file, const RecordOptions& how, int64_t step_done, bool fresh);
  ~State() { commit(); }

  void create(const RecordOptions& how);
  void forget_steps_after(int64_t step);
  void read_phase_names();
  double last_time();

  double now() const noexcept { return offset + (monotonic() - began); }
  double at(double time) const noexcept { return std::isnan(time) ? now() : time; }

  // Writes a row unless recording is paused; a time that is not known is now.
  template <typename Row>
  void add(Insert<Row>& insert, Row row) noexcept {
    if (!ready()) return;
    if constexpr (requires { row.time; }) row.time = at(row.time);
    wrote(insert(row));
  }
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
  sqlite3* raw = nullptr;
  using Text = std::string_view;
  Statement begin, end, rollback, update_role, update_ended, delete_plan, delete_plan_roles, delete_sites,
      delete_pictures;
  Insert<BasicSetting<Text>> insert_setting;
  Insert<StepRow> insert_step;
  Insert<EvaluationRow> insert_evaluation;
  Insert<MemoryRow> insert_memory;
  Insert<ProcessRow> insert_process;
  Insert<ProcessSampleRow> insert_sample;
  Insert<BasicPhaseName<Text>> insert_phase_name;
  Insert<PhaseRow> insert_phase;
  Insert<BasicEvent<Text>> insert_event;
  Insert<PlanRow> insert_plan;
  Insert<PlanRoleRow> insert_plan_role;
  Insert<SiteRow> insert_site;
  Insert<RankSampleRow> insert_rank;
  Insert<PictureRow> insert_picture;
  Insert<AnswerRow> insert_answer;
  Insert<BasicVerdict<Text>> insert_verdict;
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
  // Commands, paths and settings are its owner's business; the log beside it gets the same rights.
  if (const int code = fresh ? create_private(path) : 0)
    fail_input("[record] cannot create {}: {}; check that the folder exists and may be written",
               path.string(), error_text(code));
  Unfinished unfinished{path, !fresh};
  database = open_database(path, SQLITE_OPEN_READWRITE);
  raw = database.get();
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
    read_phase_names();
  }
  const std::string started = wall_clock();
  if (Insert<BasicSession<Text>>(raw)({started, PLIMSOLL_VERSION, offset, fresh ? 0 : step_done}))
    fail("[record] cannot write {}: {}", path.string(), sqlite3_errmsg(raw));

  begin = {raw, "BEGIN IMMEDIATE"};
  end = {raw, "COMMIT"};
  rollback = {raw, "ROLLBACK"};
  update_role = {raw, "UPDATE processes SET role = ? WHERE id = ?"};
  update_ended = {raw, "UPDATE processes SET ended = ? WHERE id = ?"};
  delete_plan = {raw, "DELETE FROM plan"};
  delete_plan_roles = {raw, "DELETE FROM plan_roles"};
  delete_sites = {raw, "DELETE FROM sites"};
  delete_pictures = {raw, "DELETE FROM pictures"};
  insert_setting = Insert<BasicSetting<Text>>(raw, "INSERT OR REPLACE");
  insert_phase_name = Insert<BasicPhaseName<Text>>(raw, "INSERT OR IGNORE");
  const auto prepare = [&]<typename Row>(Insert<Row>& insert) { insert = Insert<Row>(raw); };
  prepare(insert_step), prepare(insert_evaluation), prepare(insert_memory), prepare(insert_process);
  prepare(insert_sample), prepare(insert_phase), prepare(insert_event), prepare(insert_plan);
  prepare(insert_plan_role), prepare(insert_site), prepare(insert_rank), prepare(insert_verdict);
  prepare(insert_picture), prepare(insert_answer);
  thinning = std::make_unique<Thinning>(raw, options.max_bytes);
  last_commit = now();
  unfinished.finished = true;
}

// All at once and before WAL mode: a run file is whole from its first moment, or empty.
void RunRecord::State::create(const RecordOptions& how) {
  execute(raw, "PRAGMA page_size = 4096");
  execute(raw, "BEGIN IMMEDIATE");
  execute(raw, fmt::format("PRAGMA application_id = {}", run_application_id).c_str());
  execute(raw, fmt::format("PRAGMA user_version = {}", run_format_version).c_str());
  for_each_table([&]<typename Row>() { execute(raw, create_sql<Row>().c_str()); });
  const std::string started = wall_clock(),
                    machine = how.machine.empty() ? platform::machine_description() : how.machine;
  if (Insert<BasicRun<Text>>(raw)({name_of(how.kind), started, PLIMSOLL_VERSION, machine}))
    fail("[record] cannot write {}: {}", path.string(), sqlite3_errmsg(raw));
  execute(raw, "COMMIT");
}

void RunRecord::State::forget_steps_after(int64_t step) {
  execute(raw,
          fmt::format("BEGIN IMMEDIATE; DELETE FROM steps WHERE step > {0}; DELETE FROM evaluations WHERE "
                      "step > {0}; DELETE FROM memory WHERE step > {0}; DELETE FROM rank_samples WHERE step "
                      "> {0}; DELETE FROM answers WHERE step > {0}; COMMIT",
                      step)
              .c_str());
}

double RunRecord::State::last_time() {
  double last = 0;
  for_each_table([&]<typename Row>() {
    if constexpr (requires(Row row) { row.time; }) {
      Statement latest(raw, fmt::format("SELECT coalesce(max(time), 0) FROM {}", Table<Row>::name).c_str());
      if (latest.row()) last = std::max(last, latest.real_at(0));
    }
  });
  return last;
}

void RunRecord::State::read_phase_names() {
  Statement names(raw, "SELECT name FROM phase_names ORDER BY id");
  while (phase_count < phase_names.size() && names.row()) {
    const std::string name = names.text_at(0);
    PhaseName& slot = phase_names[phase_count++];
    slot.length = std::min(name.size(), sizeof slot.text);
    std::memcpy(slot.text, name.data(), slot.length);
  }
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
  wrote(insert_event({now(), "record", {text, std::min(told.size, sizeof text)}}));
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
  if (!sqlite3_get_autocommit(raw)) rollback.run();
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
    fail_input("[record] {} exists already; give another path{}", path.string(),
               options.kind == RunKind::train ? " or resume that run" : "");
  if (std::filesystem::is_symlink(path))
    fail_input("[record] {} is a link that leads nowhere; give another path", path.string());
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
  state_->add(state_->insert_setting, {key, value});
}
void RunRecord::step(const StepRow& row) noexcept { state_->add(state_->insert_step, row); }
void RunRecord::evaluation(const EvaluationRow& row) noexcept { state_->add(state_->insert_evaluation, row); }
void RunRecord::process_sample(const ProcessSampleRow& row) noexcept {
  state_->add(state_->insert_sample, row);
}
void RunRecord::event(std::string_view kind, std::string_view text, double time) noexcept {
  state_->add(state_->insert_event, {time, kind, text});
}
void RunRecord::plan(const PlanRow& row) noexcept { state_->add(state_->insert_plan, row); }
void RunRecord::plan_role(const PlanRoleRow& row) noexcept { state_->add(state_->insert_plan_role, row); }
void RunRecord::site(const SiteRow& row) noexcept { state_->add(state_->insert_site, row); }
void RunRecord::rank_sample(const RankSampleRow& row) noexcept { state_->add(state_->insert_rank, row); }
void RunRecord::picture(const PictureRow& row) noexcept { state_->add(state_->insert_picture, row); }
void RunRecord::answer(const AnswerRow& row) noexcept { state_->add(state_->insert_answer, row); }
void RunRecord::verdict(std::string_view json, double time) noexcept {
  state_->add(state_->insert_verdict, {time, json});
}

void RunRecord::memory(const MemoryRow& row) noexcept {
  MemoryRow written = row;
  written.phase_id = state_->current_phase;
  state_->add(state_->insert_memory, written);
}

int64_t RunRecord::process(const ProcessRow& row) noexcept {
  ProcessRow written = row;
  written.id = state_->next_process++;
  written.first_seen = state_->at(row.first_seen);
  state_->add(state_->insert_process, written);
  return written.id;
}

void RunRecord::process_role(int64_t id, std::string_view role) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->update_role.text(role).integer(id).run());
}

void RunRecord::process_ended(int64_t id, double time) noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->update_ended.real(state_->at(time)).integer(id).run());
}

void RunRecord::phase(std::string_view name, double time) noexcept {
  const int64_t id = state_->phase_id(name);
  state_->current_phase = id;
  if (!state_->ready()) return;
  // The name is offered every time: the first offer may have been lost to a full disk.
  const State::PhaseName& known = state_->phase_names[static_cast<size_t>(id - 1)];
  if (const int result = state_->insert_phase_name({id, {known.text, known.length}}))
    return state_->wrote(result);
  state_->add(state_->insert_phase, {time, id});
}

void RunRecord::clear_plan() noexcept {
  if (!state_->ready()) return;
  if (const int result = state_->delete_plan.run()) return state_->wrote(result);
  state_->wrote(state_->delete_plan_roles.run());
}

void RunRecord::clear_sites() noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->delete_sites.run());
}
void RunRecord::clear_pictures() noexcept {
  if (!state_->ready()) return;
  state_->wrote(state_->delete_pictures.run());
}

}  // namespace plimsoll
