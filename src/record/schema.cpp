#include "record/schema.hpp"

namespace plimsoll {

const char* const run_schema = R"(
CREATE TABLE run (kind TEXT NOT NULL, started TEXT NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL);

CREATE TABLE sessions (id INTEGER PRIMARY KEY, started TEXT NOT NULL, version TEXT NOT NULL, time REAL NOT NULL,
  step INTEGER NOT NULL);

CREATE TABLE configuration (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE steps (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time REAL NOT NULL, loss REAL, lr REAL,
  tokens_per_second REAL, iterations_per_second REAL, grad_norm REAL, cross_entropy REAL, distrust REAL);

CREATE TABLE evaluations (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time REAL NOT NULL, loss REAL, floor REAL);

CREATE TABLE phase_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE phases (id INTEGER PRIMARY KEY, time REAL NOT NULL, phase INTEGER NOT NULL);

CREATE TABLE memory (id INTEGER PRIMARY KEY, time REAL NOT NULL, step INTEGER, phase INTEGER, rss INTEGER, pss INTEGER,
  private INTEGER, shared INTEGER, swap INTEGER, processes INTEGER, limit_bytes INTEGER, available INTEGER, gpu INTEGER,
  pressure REAL, pss_interpolated INTEGER NOT NULL);

CREATE TABLE processes (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, start_time INTEGER NOT NULL, parent INTEGER,
  name TEXT NOT NULL, arguments TEXT NOT NULL, role TEXT NOT NULL, first_seen REAL NOT NULL, ended REAL);

CREATE TABLE process_samples (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, time REAL NOT NULL, rss INTEGER,
  pss INTEGER, private INTEGER, shared INTEGER, swap INTEGER, threads INTEGER, fds INTEGER, cpu REAL, gpu INTEGER,
  pss_interpolated INTEGER NOT NULL);

CREATE TABLE events (id INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);

CREATE TABLE plan (id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, offset INTEGER NOT NULL,
  bytes INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL);

CREATE TABLE sites (id INTEGER PRIMARY KEY, time REAL NOT NULL, process INTEGER, stack TEXT NOT NULL,
  bytes INTEGER NOT NULL, blocks INTEGER, bytes_per_second REAL);

CREATE TABLE verdicts (id INTEGER PRIMARY KEY, time REAL NOT NULL, json TEXT NOT NULL);
)";

}  // namespace plimsoll
