#include "record/run_file.hpp"

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr int instructions_per_tick = 10'000;
// A row of ours takes some 25 instructions of SQLite's machine and at least as many bytes of the file; small
// files are read whatever they hold. Pages that are reached more than once cost more, and only a crafted file
// has such.
constexpr int64_t instructions_per_byte = 4, least_instructions = 2'000'000;
constexpr int longest_value = 4 << 20;
constexpr size_t most_phase_names = 4096;
constexpr size_t longest_phase_name = 256;  // many rows share one: longer ones would multiply

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

}  // namespace

void check_tables(sqlite3* database, const std::string& path) {
  // Views, triggers and virtual tables have no page of their own: what they cost is not bounded by the file.
  Statement stranger(database,
                     "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR "
                     "coalesce(rootpage, 0) = 0 LIMIT 1");
  if (stranger.row())
    fail_input("[record] {} is not a run file: it holds a {} '{}' where only tables are expected", path,
               stranger.text_at(0) == "table" ? "virtual table" : stranger.text_at(0), stranger.text_at(1));
  if (stranger.done() != SQLITE_OK) fail_input("[record] {} is damaged: {}", path, sqlite3_errmsg(database));
  for_each_table([&]<typename Row>() {
    using Of = Table<Row>;
    if (Of::later && !has_column(database, Of::name, nullptr)) return;
    const auto require = [&](const char* column) {
      if (!has_column(database, Of::name, column))
        fail_input("[record] {} is not a run file: the table {} has no column '{}'", path, Of::name, column);
    };
    for_each_column<Row>([&](const auto& column) {
      if (*column.constraint) require(column.name);
    });
    if (Of::numbering == Numbering::by_id) require("id");
  });
}

int RunFile::tick(void* allowance) { return --static_cast<Allowance*>(allowance)->ticks < 0; }

RunFile::RunFile(const std::filesystem::path& path)
    : path_(path.string()), allowance_(std::make_unique<Allowance>()) {
  if (!std::filesystem::is_regular_file(path))
    fail_input("[record] there is no run file at {}; give a run.db, or the folder of a run", path_);
  int64_t magic = 0, version = 0;
  const auto read_magic = [&](const std::string& uri) {
    database_ = open_database(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    sqlite3_limit(get(), SQLITE_LIMIT_LENGTH, longest_value);
    sqlite3_progress_handler(get(), instructions_per_tick, tick, allowance_.get());
    allowance_->ticks = least_instructions / instructions_per_tick;
    execute(get(), "PRAGMA cache_size = 64");
    magic = query_integer(get(), "PRAGMA application_id");
    version = query_integer(get(), "PRAGMA user_version");
    query_integer(get(), "SELECT count(*) FROM sqlite_master");
  };
  const std::string uri = uri_of(path);
  try {
    read_magic(uri);
  } catch (const Error&) {
    // A finished file in a folder that may not be written: SQLite cannot make its shared index there, nor is
    // one needed.
    try {
      if (!std::filesystem::exists(path_ + "-wal")) read_magic(uri + "?immutable=1");
    } catch (const Error&) {
      magic = 0;
    }
  }
  if (magic != run_application_id)
    fail_input("[record] {} is not a run file of plimsoll or cannot be read; give a run.db", path_);
  if (version != run_format_version)
    fail_input("[record] {} has format {}, this version reads {}", path_, version, run_format_version);
  check_tables(get(), path_);
}

bool RunFile::has_table(const char* name) const { return has_column(get(), name, nullptr); }

void RunFile::allow_a_pass() const {
  *allowance_ = {least_instructions / instructions_per_tick, 0};
  const int64_t bytes = query_integer(get(), "PRAGMA page_count") * query_integer(get(), "PRAGMA page_size");
  *allowance_ = {(least_instructions + instructions_per_byte * bytes) / instructions_per_tick, bytes};
}

void RunFile::spend_text(const Statement& statement, int columns) const {
  for (int column = 1; column < columns; ++column) allowance_->text -= statement.text_bytes_at(column);
  if (allowance_->text < 0) refuse_work();
}

void RunFile::check(int result) const {
  if (result == SQLITE_OK) return;
  if ((result & 0xff) == SQLITE_INTERRUPT) refuse_work();
  if ((result & 0xff) == SQLITE_CORRUPT || (result & 0xff) == SQLITE_NOTADB)
    fail_input("[record] {} is damaged: {}", path_, sqlite3_errmsg(get()));
  // The values of a sound record are small.
  if ((result & 0xff) == SQLITE_NOMEM || (result & 0xff) == SQLITE_TOOBIG)
    fail_input(
        "[record] {} cannot be read: a value in it needs more memory than there is; it seems to be damaged",
        path_);
  fail("[record] cannot read {}: {}", path_, sqlite3_errmsg(get()));
}

void RunFile::refuse_work() const {
  fail_input("[record] {} is damaged: it holds more rows than a file of its size can", path_);
}

const std::string& RunFile::phase_name(int64_t id) const {
  static const std::string none;
  const auto known = phase_names_.find(id);
  if (known != phase_names_.end()) return known->second;
  if (phase_names_.size() >= most_phase_names) return none;
  const auto found = all<BasicPhaseName<std::string>>("WHERE id = ?", &id);
  return phase_names_[id] = found.empty() ? "" : found.front().name.substr(0, longest_phase_name);
}

}  // namespace plimsoll
