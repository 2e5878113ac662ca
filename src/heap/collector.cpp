#include "heap/collector.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "platform/clock.hpp"
#include "platform/machine.hpp"

namespace plimsoll::heap {
namespace {

constexpr size_t most_processes = 256;  // of a fork storm the largest are kept

// "4711.123456789.heap" -> 4711, 123456789
bool parse_name(const std::string& name, int& pid, uint64_t& number) {
  const char* end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, pid);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return false;
  const auto second = std::from_chars(first.ptr + 1, end, number);
  return second.ec == std::errc{} && std::string_view(second.ptr, size_t(end - second.ptr)) == ".heap";
}

uint64_t sum_of(const std::vector<LiveSite>& sites) {
  uint64_t sum = 0;
  for (const LiveSite& site : sites) sum += site.bytes;
  return sum;
}

constexpr size_t most_looks = 16;

void hold(Profiled& process, const Profiled::Look& look) {
  process.held = look.live;
  process.held_nanoseconds = look.nanoseconds;
  process.held_time = look.time;
}

// Of the last looks at a process that has ended, the latest at which it was not being taken apart: it held no less than at
// the look before, nor one percent less than ever before it held the most. A leak may be a small part of all, and what is freed
// at the end is a leak most of the time. A spike that was over is not what it held.
void settle(Profiled& process) {
  std::vector<uint64_t> held;
  for (const Profiled::Look& look : process.looks) held.push_back(sum_of(look.live));
  const auto most = std::max_element(held.begin(), held.end());
  const uint64_t least = held.empty() ? 0 : *std::min_element(held.begin(), most + 1);
  const auto frees = [&] { return held.size() > 1 && held.back() < held.end()[-2]; };
  while (!held.empty() && (held.back() < least - least / 100 || frees())) held.pop_back();
  process.looks.resize(held.size());
  if (!process.looks.empty()) hold(process, process.looks.back());
  // Taking a large program apart may take longer than the last looks reach back.
  if (process.working && process.most_since <= sum_of(process.working->live)) hold(process, *process.working);
  process.working.reset(), process.doubted.reset();
  process.looks.clear();
}

std::string usable_preload() {
  std::string library = find_preload();
  if (library.empty())
    fail_input(
        "profiling needs libplimsoll_heap.so beside the program or in {}; build it, or name it in "
        "PLIMSOLL_HEAP_LIBRARY",
        PLIMSOLL_LIBDIR);
  if (library.find_first_of(" :") != std::string::npos)
    fail_input("{}: the loader cannot preload a path with a space or a colon; install the program elsewhere",
               library);
  return library;
}

// What LD_PRELOAD holds already stays.
std::pair<std::string, std::string> preloading(const std::string& library) {
  const char* before = std::getenv("LD_PRELOAD");
  return {"LD_PRELOAD", before && *before ? library + ":" + before : library};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> dormant_environment() {
  return {preloading(usable_preload()), {"PLIMSOLL_HEAP", "dormant"}};
}

std::string find_preload() {
  constexpr const char* name = "libplimsoll_heap.so";
  std::error_code error;
  if (const char* given = std::getenv("PLIMSOLL_HEAP_LIBRARY");
      given && std::filesystem::exists(given, error))
    return std::filesystem::absolute(given, error).string();
  const auto program = platform::own_program().parent_path();
  for (const auto& path :
       {program / name, program / "../lib/plimsoll" / name, std::filesystem::path(PLIMSOLL_LIBDIR) / name})
    if (std::filesystem::exists(path, error)) return std::filesystem::weakly_canonical(path, error).string();
  return {};
}

uint64_t Profiled::held_bytes() const { return sum_of(held); }

Collector::Collector(const std::string& where, uint64_t rate) : library_(usable_preload()), rate_(rate) {
  std::error_code error;
  std::filesystem::path below =
      where.empty() ? std::filesystem::temp_directory_path(error) : std::filesystem::path(where);
  owned_.emplace(std::filesystem::absolute(below, error).string(), "heap");
  if (!owned_->ok()) fail_input("cannot make a folder in {} ({})", below.string(), std::strerror(errno));
  folder_ = owned_->path();
  advice_ = where.empty() ? "set TMPDIR to a folder with more" : "give --out in a folder with more";
  // Held as long as we live: a process that begins after our end writes nothing that nobody would remove.
  lock_ = std::make_unique<platform::LockedFile>(folder_ + "/watcher");
}

Collector::~Collector() {
  lock_.reset();
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

std::vector<std::pair<std::string, std::string>> Collector::environment() const {
  return {preloading(library_), {"PLIMSOLL_HEAP", folder_}, {"PLIMSOLL_HEAP_RATE", std::to_string(rate_)}};
}

std::string Collector::why_refused(const std::string& name) const {
  const int error = std::atoi(name.c_str());
  if (error == EPERM)
    return "a process has restricted its own system calls (no_new_privs, seccomp): from then on it is not "
           "profiled, unless it runs another program";
  if (error == EFBIG)
    return fmt::format(
        "a process may not write a file of {}, as large as a heap file (`ulimit -f`): it is not profiled",
        format_bytes(whole_file_bytes));
  return fmt::format(
      "a process could not write a heap file of {} below {} ({}): it is not profiled; make room there, or "
      "{}",
      format_bytes(whole_file_bytes), std::filesystem::path(folder_).parent_path().string(),
      std::strerror(error), advice_);
}

void Collector::find_files(double time) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int pid = 0;
    uint64_t number = 0;
    if (by_file_.contains(name)) continue;
    if (name.starts_with(refused_name)) {
      troubles_.push_back(why_refused(name.substr(sizeof refused_name - 1)));
      by_file_[name] = nullptr;
      refused_ = true;
      continue;
    }
    if (!parse_name(name, pid, number)) continue;
    try {
      auto process = std::make_unique<Profiled>();
      process->pid = pid;
      process->number = number;
      process->first_seen = time;
      process->reader = std::make_unique<Reader>(entry->path().string());
      // What the process was before exec is gone. The folder does not list its files in that order.
      for (auto& other : processes_)
        if (other->pid == pid) (other->number < number ? other : process)->ended = true;
      by_file_[name] = process.get();
      processes_.push_back(std::move(process));
    } catch (const Error& problem) {
      if (troubles_.size() < 20) troubles_.push_back(problem.what());
      by_file_[name] = nullptr;
    }
  }
}

void Collector::refresh(Profiled& process, const std::string& path, double time) {
  // Asked before reading: what was written before the end is then read after it.
  const bool alive = platform::process_lives(process.pid) && !process.ended;
  const bool read = process.reader->refresh();
  if (read && !process.ended) {
    process.last_seen = time;
    process.looks.push_back({time, platform::monotonic_nanoseconds(), process.reader->live()});
    if (process.looks.size() > most_looks) process.looks.pop_front();
    process.series.add(time, process.looks.back().live);
    hold(process, process.looks.back());
    // What was told before this look was done before it. A process that is not there any more is ending.
    if (at_work_ && alive) {
      if (process.doubted) process.working = std::exchange(process.doubted, std::nullopt);
      const uint64_t before = process.working ? sum_of(process.working->live) : 0;
      const bool fell = process.held_bytes() < before - before / 100;
      (fell ? process.doubted : process.working) = process.looks.back();
      process.most_since = 0;
    } else {
      process.most_since = std::max(process.most_since, process.held_bytes());
    }
  }
  if (alive) return;
  process.ended = true;
  settle(process);
  if (!read && troubles_.size() < 20)
    troubles_.push_back(
        fmt::format("{}: {}", std::filesystem::path(path).filename().string(), process.reader->error()));
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

void Collector::let_go_of_the_smallest() {
  while (processes_.size() > most_processes) {
    auto smallest = processes_.end();
    for (auto at = processes_.begin(); at != processes_.end(); ++at)
      if ((*at)->ended && (smallest == processes_.end() || (*at)->held_bytes() < (*smallest)->held_bytes()))
        smallest = at;
    if (smallest == processes_.end()) return;
    std::erase_if(by_file_, [&](const auto& entry) { return entry.second == smallest->get(); });
    processes_.erase(smallest);
  }
}

void Collector::look(double time) {
  find_files(time);
  for (auto& [name, process] : by_file_)
    if (process) refresh(*process, folder_ + "/" + name, time);
  at_work_ = false;
  std::erase_if(by_file_, [](const auto& entry) { return entry.second && entry.second->ended; });
  let_go_of_the_smallest();
}

}  // namespace plimsoll::heap
