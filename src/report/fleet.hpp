// Many runs as one: the ranks of a job, or the runs of a folder. One verdict, the run it is about by name, how the others lie
// around the median, and a row for each; never a series for each process.
#pragma once
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "report/run_data.hpp"
#include "report/text.hpp"

namespace plimsoll::report {

// What remains of a run when it is one of many.
struct Member {
  std::string path, name;  // the file, and what to call the run: "rank 17 on b", else the file's name
  std::string unread;      // why it could not be read; then nothing below is known
  int64_t rank = -1;       // -1: it is no rank
  std::string node, job, kind, model, started;
  double seconds = 0;
  double floor = unknown_real, peak = unknown_real;  // bytes
  double loss = unknown_real, speed = unknown_real;  // the newest; steps a second
  bool judged = false;
  verdict::Verdict verdict;
  std::vector<double> curve;  // memory at equal distances of its own time
};

struct Fleet {
  std::vector<Member> members;  // as given
  size_t worst = 0;             // whom the sentence is about
  size_t leaks = 0, judged = 0, unread = 0;
  double median_floor = unknown_real, skew = unknown_real;  // skew: the highest floor over the median, less 1
  std::string sentence;
};

// Up to this many at once.
constexpr size_t most_members = 1000;

// Reads and judges the files, several at a time. What cannot be read is a member that says why.
Fleet read_fleet(std::span<const std::string> paths, double limit = 0);
// The run files of a folder and of its folders, by name.
std::vector<std::string> find_runs(const std::string& folder);

// Leaks first, then by floor, highest first.
std::vector<const Member*> worst_first(const Fleet& fleet);

std::string fleet_terminal(const Fleet& fleet, const TerminalOptions& options, size_t most_rows = 20);
std::string fleet_markdown(const Fleet& fleet);
std::string fleet_json(const Fleet& fleet);
std::string fleet_page(const Fleet& fleet);
// A line for each run, newest first: model, loss, memory, verdict, when.
std::string runs_table(const Fleet& fleet);

}  // namespace plimsoll::report
