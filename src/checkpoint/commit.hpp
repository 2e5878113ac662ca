// The run folder as used by the store: how a finished folder becomes a checkpoint, which checkpoints are
// kept, and what is removed. Nothing here allocates after the constructor.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "checkpoint/manifest.hpp"

namespace plimsoll {

// What failed, for one line of text; `code` 0 is success.
struct Failure {
  int code = 0;
  const char* doing = "";
  const char* name = "";
  explicit operator bool() const { return code != 0; }
};

class RunFolder {
 public:
  RunFolder(const std::filesystem::path& path, std::optional<uint64_t> resumed_step, int keep_last);

  // An empty `.step-N.tmp` to write into.
  Failure begin(uint64_t step, Folder& temporary);
  // Makes the written folder the checkpoint of that step, durably; `best` is then the best of the run.
  Failure commit(uint64_t step, std::optional<uint64_t> best);
  // Removes what begin() made.
  void abandon(uint64_t step);
  // Removes what need not stay. Only to be called after a commit.
  Failure retain();

  std::optional<uint64_t> last() const { return last_; }
  std::optional<uint64_t> best() const { return best_; }

 private:
  struct Kept {
    uint64_t step;
    bool superseded, leaving;
  };
  void scan(const std::filesystem::path& path, std::optional<uint64_t> resumed_step);
  int discard(const char* name);

  Folder folder_;
  size_t keep_last_;
  std::vector<Kept> kept_;  // ascending; room for more is reserved
  std::optional<uint64_t> last_, best_;
};

}  // namespace plimsoll
