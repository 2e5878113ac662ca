// Follows a run file while it is written: each call returns the rows added since the previous one, a bounded
// number at a time, in one short read transaction.
//
//   RunTail tail("run.db");
//   for (RunTail::News news; (news = tail.next()).rows > 0;) show(news);
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "record/run_reader.hpp"

namespace plimsoll {

class RunTail {
 public:
  // InputError if `path` is not a run file this version can read.
  explicit RunTail(const std::filesystem::path& path);
  RunTail(RunTail&&) noexcept;
  RunTail& operator=(RunTail&&) noexcept;
  ~RunTail();

  struct News {
    size_t rows = 0;  // in all
    std::vector<StepRow> steps;
    std::vector<EvaluationRow> evaluations;
    std::vector<RunReader::Memory> memory;
    std::vector<RunReader::Process> processes;  // new ones, and those that have ended or changed their role
    std::vector<ProcessSampleRow> samples;
    std::vector<RunReader::Phase> phases;
    std::vector<RunReader::Event> events;
    std::vector<RankSampleRow> rank_samples;
    std::vector<RunReader::Answer> answers;
    std::vector<RunReader::Picture> pictures;  // all of them, where there are new answers
    std::vector<RunReader::Verdict> verdicts;  // after all rows before them
  };
  // At most `most` rows of each table; nothing at all where nothing has changed.
  News next(size_t most = 4096);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
