// The watcher's side of profiling: a private folder for the files of the processes, the environment that a
// launched program needs, and a reading of every file at each sample.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heap/reader.hpp"
#include "heap/site_series.hpp"
#include "platform/owned_folder.hpp"
#include "platform/shared_file.hpp"

namespace plimsoll::heap {

// One program a process ran: a new one begins with exec.
struct Profiled {
  int pid = 0;
  uint64_t number = 0;  // the later of the programs the process ran has the greater: exec begins the next
  double first_seen = 0, last_seen = 0;
  bool ended = false;
  std::unique_ptr<Reader> reader;
  SiteSeries series;
  // What it held when last seen at work; of one that was killed, at its end. A program that ends by itself frees first,
  // which says nothing about what it held.
  std::vector<LiveSite> held;
  uint64_t held_nanoseconds = 0;  // CLOCK_MONOTONIC, when that was
  double held_time = 0;           // the same by the watcher's clock
  uint64_t held_bytes() const;

  struct Look {
    double time;
    uint64_t nanoseconds;
    std::vector<LiveSite> live;
  };
  std::deque<Look> looks;  // the last few of a process that lives
  // The last look while the program was known to be at work, and the most it held since. A look that follows a step and found
  // less than that may have met the program's end already: it counts when another step is told.
  std::optional<Look> working, doubted;
  uint64_t most_since = 0;
};

class Collector {
 public:
  static constexpr uint64_t default_rate = 512 << 10;

  // Makes a folder of its own below `where` (empty: the system's folder for temporary files). InputError where that
  // or the library to preload is missing.
  explicit Collector(const std::string& where = {}, uint64_t rate = default_rate);
  ~Collector();  // removes the folder
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // For the environment of the program to profile; what LD_PRELOAD holds already stays.
  std::vector<std::pair<std::string, std::string>> environment() const;
  // The program says that it has done something since the last look: it is not ending.
  void at_work() { at_work_ = true; }
  // Finds new files and reads all that may have changed.
  void look(double time);
  const std::vector<std::unique_ptr<Profiled>>& processes() const { return processes_; }
  // Files that cannot be read, and why; each once.
  const std::vector<std::string>& troubles() const { return troubles_; }
  bool refused() const { return refused_; }  // a file could not be made: the troubles say why
  const std::string& folder() const { return folder_; }

 private:
  void find_files(double time);
  std::string why_refused(const std::string& name) const;
  void refresh(Profiled& process, const std::string& path, double time);
  void let_go_of_the_smallest();

  std::string folder_, library_, advice_;
  uint64_t rate_;
  bool at_work_ = false, refused_ = false;
  std::optional<platform::OwnedFolder> owned_;
  std::unique_ptr<platform::LockedFile> lock_;
  std::vector<std::unique_ptr<Profiled>> processes_;
  std::map<std::string, Profiled*> by_file_;
  std::vector<std::string> troubles_;
};

// For the environment of a program whose library is to sleep until a watcher wakes it (waker.hpp). InputError where the
// library is missing.
std::vector<std::pair<std::string, std::string>> dormant_environment();

// The library to preload; empty where it is not found beside the program or where it is installed.
std::string find_preload();

}  // namespace plimsoll::heap
