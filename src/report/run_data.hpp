// Everything a report shows of a run in plain rows, read from a run file or filled while a run is in
// progress.
#pragma once
#include <optional>
#include <string>

#include "base/footprint.hpp"
#include "record/run_rows.hpp"
#include "report/rank_view.hpp"
#include "verdict/judgement.hpp"

namespace plimsoll::report {

struct RunData : RunRows {
  std::string name;                             // what to call it: the file's name
  std::optional<verdict::Judgement> judgement;  // none yet, or nothing to judge
  double line = 0;                              // bytes not to cross; 0: none known
  double from = 0;   // the part that was judged: of a resumed run the last session,
  double until = 0;  // up to where the program began to end
  RankView ranks;    // of a training run on several
};

// Reads the file and judges it as `plimsoll verdict` does; `line` of 0 is the recorded one. InputError if it is
// not a run file.
RunData read_run_data(const std::string& path, double line = 0);

}  // namespace plimsoll::report
