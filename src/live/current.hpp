// The current state of a run, maintained from the rows of its record: the latest values, the living processes
// and the verdict so far. Its size is bounded.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/run_tail.hpp"
#include "verdict/judgement.hpp"
#include "verdict/start_up.hpp"

namespace plimsoll::live {

struct CurrentProcess {
  int64_t pid = 0, parent = -1;
  std::string name, role;  // escaped and masked as recorded
  int64_t bytes = 0, rss = 0, threads = -1;
};

class Current {
 public:
  using Configuration = std::vector<std::pair<std::string, std::string>>;
  // `session` is when the last session of a resumed run began, else negative; `machine_bytes` the limit of a run that
  // records none.
  Current(RunReader::Run run, const Configuration& configuration, double session, int64_t plan_bytes,
          uint64_t machine_bytes);

  void take(const RunTail::News& news);

  const RunReader::Run& run() const { return run_; }
  // Of one rank of many: job, rank and node, as far as they are known.
  const Configuration& rank_labels() const { return rank_labels_; }
  double time() const { return time_; }
  bool ended() const { return ended_; }  // the final verdict is in
  const RunReader::Memory& memory() const { return memory_; }
  int64_t bytes() const;        // what is judged: PSS where known, else RSS, and swap
  int64_t limit_bytes() const;  // 0: none known
  int64_t plan_bytes() const { return plan_bytes_; }
  const StepRow& step() const { return step_; }
  bool has_step() const { return has_step_; }
  const EvaluationRow& evaluation() const { return evaluation_; }
  int64_t iterations() const { return iterations_; }            // 0: not known
  int64_t tokens_per_step() const { return tokens_per_step_; }  // 0: not known
  const std::string& phase() const { return phase_; }
  int64_t guard_level() const { return guard_level_; }  // 0 ok to 4 stop; -1: no guard has spoken
  const std::map<int64_t, CurrentProcess>& processes() const { return processes_; }
  // Of a training run on several ranks: the newest of each, and where it runs.
  const std::map<int64_t, RankSampleRow>& ranks() const { return ranks_; }
  std::string node_of(int64_t rank) const {
    const auto node = nodes_.find(rank);
    return node == nodes_.end() ? std::string() : node->second;
  }
  // While it runs as OnlineVerdict gives it; at the end the recorded one.
  verdict::Judgement judgement() const;
  const verdict::Verdict& verdict() const { return ended_ ? final_->verdict : online_.current(); }

 private:
  void read_final(const RunReader::Verdict& recorded);

  RunReader::Run run_;
  Configuration rank_labels_;
  double session_;
  int64_t plan_bytes_ = 0, iterations_ = 0, tokens_per_step_ = 0, line_ = 0;
  double time_ = 0;
  bool ended_ = false, has_step_ = false;
  RunReader::Memory memory_;
  StepRow step_;
  EvaluationRow evaluation_;
  std::string phase_;
  int64_t guard_level_ = -1;
  std::map<int64_t, CurrentProcess> processes_;  // living ones by the id of their row
  std::map<int64_t, RankSampleRow> ranks_;
  std::map<int64_t, std::string> nodes_;
  verdict::StartUp start_up_;
  double first_sample_ = -1;
  verdict::OnlineVerdict online_;
  std::optional<verdict::Judgement> final_;
};

}  // namespace plimsoll::live
