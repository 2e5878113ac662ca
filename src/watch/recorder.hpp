// Records a watch to a run file: the tree at every sample, and a process when it has changed or after a while.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "diagnose/judgement.hpp"
#include "diagnose/sites.hpp"
#include "observe/process.hpp"
#include "record/run_record.hpp"

namespace plimsoll::watch {

// Newer sites replace older ones; `row_of` gives a process's row, unknown_count where it has none.
void write_sites(RunRecord& record, const diagnose::SiteReport& report, double time,
                 const std::function<int64_t(int pid)>& row_of);

class Recorder {
 public:
  // InputError if `path` exists or cannot be written.
  explicit Recorder(const std::string& path);

  void configuration(std::string_view key, std::string_view value) { record_.configuration(key, value); }
  void snapshot(const observe::Snapshot& snapshot, std::optional<int64_t> step, uint64_t limit);
  void step(int64_t step, double time) { record_.step({.step = step, .time = time}); }
  void phase(std::string_view name, double time) { record_.phase(name, time); }
  void event(std::string_view kind, std::string_view text, double time) { record_.event(kind, text, time); }
  // Newer sites replace older ones.
  void sites(const diagnose::SiteReport& report, double time);
  void finish(const diagnose::Judgement& judgement, std::string_view json, double time);
  // Why recording is paused (a full disk); empty while it works.
  std::string_view error() const { return record_.error(); }

 private:
  struct Written {
    int64_t row = 0;
    uint64_t rss = 0, bytes = 0;
    double time = -1e9;
    std::string name;
  };
  void write(const observe::Process& process, double time);
  void introduce(const observe::Process& process, Written& written);

  RunRecord record_;
  std::map<proc::ProcessId, Written> written_;
};

}  // namespace plimsoll::watch
