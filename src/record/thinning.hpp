// Keeps the run file below its size bound by thinning out old samples: of every sixteen consecutive rows of a
// series, the rows with the minimum and maximum of each of its two measures are kept. Each pass thins what
// earlier passes left, so resolution decreases with age and no extreme is lost. The work is done in small
// slices, one at every commit.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "record/database.hpp"

namespace plimsoll {

struct ThinningRow {
  int64_t id = 0;
  double first = 0, second = 0;  // the two measures; NaN where not known
};
inline constexpr size_t thinning_group = 16;

// Bit i of the result: row i stays. At most four rows do: the extremes of both measures; without any measure
// known, the first and the last.
uint32_t rows_to_keep(std::span<const ThinningRow> group) noexcept;

class Thinning {
 public:
  Thinning(sqlite3* database, uint64_t max_bytes);

  // One slice of work if the file is near its bound; inside the caller's transaction. SQLITE_OK or the error.
  int slice() noexcept;
  // After a rollback: forgets the pass under way and counts the rows anew.
  void reset() noexcept;
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr size_t tables = 7;
  static constexpr int rows_per_slice = 2048;
  struct Table {
    Statement select, remove, count, last;
    int64_t rows = 0;
    int row_bytes = 0;
    bool passed = false;  // in this episode
  };
  struct Group {
    int64_t series = -1;
    size_t size = 0;
    std::array<ThinningRow, thinning_group> rows;
  };

  int measure() noexcept;
  int begin_pass() noexcept;
  int visit(int64_t series, const ThinningRow& row) noexcept;
  int close(Group& group) noexcept;
  int remove(int64_t id) noexcept;

  uint64_t begin_at_, stop_at_, bytes_ = 0;
  Statement page_count_, free_count_;
  std::array<Table, tables> table_;
  std::array<Group, 512> groups_;  // by series modulo 512
  Table* current_ = nullptr;
  int64_t cursor_ = 0, end_ = 0;
  bool thinning_ = false;
  bool coarse_ = false;  // the bound could not be held otherwise: series that collide are thinned as one
};

}  // namespace plimsoll
