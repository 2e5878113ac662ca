#include "record/thinning.hpp"

#include <cmath>

namespace plimsoll {

namespace {

struct Source {
  const char* name;
  const char*
      select;     // id, series, two measures, whether the row is an orphan; ?1 < id <= ?2, at most ?3 rows
  int row_bytes;  // roughly, to find the largest table
};

// A process keeps its row while it lives; ended ones are thinned to the shortest and the longest lived of
// their group, and samples whose process is gone go with it.
constexpr Source sources[] = {
    {"steps", "SELECT id, 0, loss, grad_norm, 0 FROM steps WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
     60},
    {"memory", "SELECT id, 0, rss, pss, 0 FROM memory WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3", 70},
    {"process_samples",
     "SELECT s.id, s.process, s.rss, s.pss, p.id IS NULL FROM process_samples s LEFT JOIN processes p ON "
     "p.id = "
     "s.process WHERE s.id > ?1 AND s.id <= ?2 ORDER BY s.id LIMIT ?3",
     60},
    {"processes",
     "SELECT id, CASE WHEN ended IS NULL THEN -1 ELSE 0 END, ended - first_seen, NULL, 0 FROM processes "
     "WHERE id > "
     "?1 AND id <= ?2 ORDER BY id LIMIT ?3",
     150},
    {"rank_samples",
     "SELECT id, rank, rss, waiting_seconds, 0 FROM rank_samples WHERE id > ?1 AND id <= ?2 ORDER BY id "
     "LIMIT ?3",
     50},
    {"phases", "SELECT id, 0, NULL, NULL, 0 FROM phases WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3", 16},
    {"events", "SELECT id, 0, NULL, NULL, 0 FROM events WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
     100},
};
constexpr int64_t fewest_rows = 500;  // smaller tables are left alone

}  // namespace

uint32_t rows_to_keep(std::span<const ThinningRow> group) noexcept {
  uint32_t keep = 0;
  for (double ThinningRow::*measure : {&ThinningRow::first, &ThinningRow::second}) {
    size_t least = group.size(), most = group.size();
    for (size_t i = 0; i < group.size(); ++i) {
      if (std::isnan(group[i].*measure)) continue;
      if (least == group.size() || group[i].*measure < group[least].*measure) least = i;
      if (most == group.size() || group[i].*measure > group[most].*measure) most = i;
    }
    if (least < group.size()) keep |= 1u << least | 1u << most;
  }
  if (!keep && !group.empty()) keep = 1u | 1u << (group.size() - 1);
  return keep;
}

Thinning::Thinning(sqlite3* database, uint64_t max_bytes)
    : begin_at_(max_bytes / 100 * 75),
      stop_at_(max_bytes / 100 * 65),
      page_count_(database, "PRAGMA page_count"),
      free_count_(database, "PRAGMA freelist_count") {
  static_assert(std::size(sources) == tables);
  for (size_t i = 0; i < tables; ++i) {
    const std::string name = sources[i].name;
    table_[i].select = Statement(database, sources[i].select);
    table_[i].remove = Statement(database, ("DELETE FROM " + name + " WHERE id = ?1").c_str());
    table_[i].count = Statement(database, ("SELECT count(*) FROM " + name).c_str());
    table_[i].last = Statement(database, ("SELECT max(id) FROM " + name).c_str());
    table_[i].row_bytes = sources[i].row_bytes;
  }
  measure();
}

int Thinning::measure() noexcept {
  constexpr int64_t page_bytes = 4096;
  const int64_t pages = page_count_.row() ? page_count_.integer_at(0) : 0;
  if (const int result = page_count_.done()) return result;
  const int64_t free = free_count_.row() ? free_count_.integer_at(0) : 0;
  if (const int result = free_count_.done()) return result;
  bytes_ = static_cast<uint64_t>((pages - free) * page_bytes);
  return SQLITE_OK;
}

void Thinning::reset() noexcept {
  current_ = nullptr;
  thinning_ = false;
}

// Picks the largest table not yet passed in this episode; all but its newest quarter will be thinned.
int Thinning::begin_pass() noexcept {
  current_ = nullptr;
  int64_t largest = 0;
  for (Table& table : table_) {
    if (table.passed) continue;
    table.rows = table.count.row() ? table.count.integer_at(0) : 0;
    if (const int result = table.count.done()) return result;
    if (table.rows >= fewest_rows && table.rows * table.row_bytes > largest) {
      largest = table.rows * table.row_bytes;
      current_ = &table;
    }
  }
  if (!current_) return SQLITE_OK;
  current_->passed = true;
  cursor_ = 0;
  end_ = (current_->last.row() ? current_->last.integer_at(0) : 0) - current_->rows / 4;
  for (Group& group : groups_) group.size = 0;
  return current_->last.done();
}

int Thinning::slice() noexcept {
  if (const int result = measure()) return result;
  if (!thinning_) {
    if (bytes_ < begin_at_) return SQLITE_OK;
    thinning_ = true;
    for (Table& table : table_) table.passed = false;
  }
  if (!current_) {
    if (bytes_ >= stop_at_)
      if (const int result = begin_pass()) return result;
    if (!current_) {
      thinning_ = false;
      coarse_ = bytes_ >= begin_at_;
      return SQLITE_OK;
    }
  }
  // Rows are collected first: deleting under a running query would make SQLite save and restore its place
  // each time.
  int rows = 0;
  Statement& select = current_->select;
  struct Seen {
    int64_t series;
    ThinningRow row;
    bool orphan;
  };
  std::array<Seen, rows_per_slice> seen;
  select.integer(cursor_).integer(end_).integer(rows_per_slice);
  while (rows < rows_per_slice && select.row())
    seen[static_cast<size_t>(rows++)] = {select.integer_at(1),
                                         {select.integer_at(0), select.real_at(2), select.real_at(3)},
                                         select.integer_at(4) != 0};
  if (const int result = select.done()) return result;
  for (int i = 0; i < rows; ++i) {
    const Seen& one = seen[static_cast<size_t>(i)];
    cursor_ = one.row.id;
    if (one.series < 0) continue;
    if (const int result = one.orphan ? remove(one.row.id) : visit(one.series, one.row)) return result;
  }
  if (rows == rows_per_slice) return SQLITE_OK;
  for (Group& group : groups_)
    if (const int result = close(group)) return result;
  current_ = nullptr;
  return SQLITE_OK;
}

int Thinning::visit(int64_t series, const ThinningRow& row) noexcept {
  Group& group = groups_[static_cast<size_t>(series) % groups_.size()];
  // More than 512 series at once: closing the group of another early thins less but mixes nothing.
  if (group.size && group.series != series && !coarse_)
    if (const int result = close(group)) return result;
  group.series = series;
  group.rows[group.size++] = row;
  return group.size == thinning_group ? close(group) : SQLITE_OK;
}

int Thinning::close(Group& group) noexcept {
  const uint32_t keep = rows_to_keep({group.rows.data(), group.size});
  for (size_t i = 0; i < group.size; ++i)
    if (!(keep >> i & 1u))
      if (const int result = remove(group.rows[i].id)) return result;
  group.size = 0;
  return SQLITE_OK;
}

int Thinning::remove(int64_t id) noexcept { return current_->remove.integer(id).run(); }

}  // namespace plimsoll
