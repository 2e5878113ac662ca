#include "watch/recorder.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mask.hpp"

namespace plimsoll::watch {
namespace {

// A process that stands still is written this often, one that moved by this share at once.
constexpr double still_seconds = 30, moved_share = 0.005;

bool moved(uint64_t now, uint64_t before) {
  uint64_t change = now > before ? now - before : before - now;
  return double(change) > moved_share * double(before);
}

// A line that was judged, and what its stacks gained together.
struct JudgedLine {
  const diagnose::Site* site = nullptr;
  double gained = 0;
  bool given = false;
};

// The part of the line's rate that falls to a stack; a line that does not grow has none, whatever was allocated once.
double part_of_rate(JudgedLine& line, double own) {
  if (!line.site) return unknown_real;
  if (line.gained > 0) return line.site->rate * std::max(0.0, own) / line.gained;
  return std::exchange(line.given, true) ? 0 : line.site->rate;
}

}  // namespace

void write_sites(RunRecord& record, const diagnose::SiteReport& report, double time,
                 const std::function<int64_t(int pid)>& row_of) {
  record.clear_sites();
  std::map<std::string, JudgedLine> lines;
  for (const diagnose::Site& site : report.sites) lines.try_emplace(site.place.text(), JudgedLine{.site = &site});
  const auto name_of = [](const diagnose::HeldStack& held) {
    return held.stack[diagnose::place_to_name(held.stack)].text();
  };
  for (const diagnose::HeldStack& held : report.stacks)
    lines[name_of(held)].gained += std::max(0.0, held.rate);
  for (const diagnose::HeldStack& held : report.stacks) {
    const std::string place = name_of(held);
    JudgedLine& line = lines[place];
    const std::string hint = line.site ? escape(line.site->hint) : "", shown_place = escape(place);
    std::string stack;
    for (auto place = held.stack.rbegin(); place != held.stack.rend(); ++place)
      stack += (stack.empty() ? "" : "\n") + escape(place->text());
    record.site({.time = time,
                 .process = row_of(held.pid),
                 .stack = stack,
                 .bytes = int64_t(held.bytes),
                 .blocks = int64_t(held.blocks),
                 .bytes_per_second = part_of_rate(line, held.rate),
                 .hint = hint,
                 .allocated_bytes = int64_t(held.allocated_bytes),
                 .allocated_blocks = int64_t(held.allocated_blocks),
                 .place = shown_place});
  }
}

Recorder::Recorder(const std::string& path) : record_(RunRecord::create(path, {.kind = RunKind::watch})) {}

void Recorder::snapshot(const observe::Snapshot& snapshot, std::optional<int64_t> step, uint64_t limit) {
  for (const proc::ProcessId& id : snapshot.ended)
    if (auto at = written_.find(id); at != written_.end()) {
      record_.process_ended(at->second.row, snapshot.time);
      written_.erase(at);
    }
  MemoryRow tree{.time = snapshot.time,
                 .step = step.value_or(unknown_count),
                 .rss = int64_t(snapshot.rss),
                 .pss = int64_t(snapshot.bytes - snapshot.swap),
                 .private_bytes = int64_t(snapshot.private_bytes),
                 .shared = int64_t(snapshot.shared),
                 .swap = int64_t(snapshot.swap),
                 .processes = int64_t(snapshot.processes.size()),
                 .limit = int64_t(limit),
                 .available = int64_t(snapshot.system.available),
                 .gpu = snapshot.gpu ? int64_t(snapshot.gpu) : unknown_count,
                 .file = int64_t(snapshot.file),
                 .pss_interpolated = !snapshot.pss_measured};
  if (snapshot.system.pressure) tree.pressure = snapshot.system.pressure->some10;
  record_.memory(tree);
  for (const observe::Process& process : snapshot.processes)
    if (!process.zombie()) write(process, snapshot.time);
}

void Recorder::write(const observe::Process& process, double time) {
  auto [at, fresh] = written_.try_emplace(process.id);
  Written& written = at->second;
  if (fresh) {
    // Short-lived processes would fill the file: a row is made when a process is seen for the second time.
    written.row = -1;
    written.rss = process.rss;
    return;
  }
  // A program that has become another by exec goes on as a row of its own.
  if (written.row >= 0 && written.name != process.name) {
    record_.process_ended(written.row, time);
    written.row = -1;
  }
  if (written.row < 0)
    introduce(process, written);
  else if (!moved(process.rss, written.rss) && !moved(process.footprint(), written.bytes) &&
           time - written.time < still_seconds)
    return;
  written.rss = process.rss, written.bytes = process.footprint(), written.time = time;
  record_.process_sample({.process = written.row,
                          .time = time,
                          .rss = int64_t(process.rss),
                          .pss = int64_t(process.owned),
                          .private_bytes = int64_t(process.private_bytes),
                          .shared = int64_t(process.shared),
                          .swap = int64_t(process.swap),
                          .threads = process.threads,
                          .descriptors = process.descriptors,
                          .cpu = process.cpu_seconds,
                          .gpu = process.gpu ? int64_t(process.gpu) : unknown_count,
                          .pss_interpolated = !process.pss_measured});
}

void Recorder::introduce(const observe::Process& process, Written& written) {
  written.name = process.name;
  int64_t parent = unknown_count;
  for (const auto& [id, other] : written_)
    if (id.pid == process.parent && other.row >= 0) parent = other.row;
  written.row = record_.process({.pid = process.id.pid,
                                 .start_time = int64_t(process.id.start_ticks),
                                 .parent = parent,
                                 .first_seen = process.first_seen,
                                 .name = escape(process.name),
                                 .arguments = process.command,
                                 .role = {}});
}

void Recorder::sites(const diagnose::SiteReport& report, double time) {
  write_sites(record_, report, time, [this](int pid) {
    int64_t row = unknown_count;
    for (const auto& [id, written] : written_)
      if (id.pid == pid && written.row >= 0) row = written.row;
    return row;
  });
}

void Recorder::finish(const diagnose::Judgement& judgement, std::string_view json, double time) {
  for (const auto& [id, written] : written_) {
    auto role = judgement.roles.role.find(id);
    if (written.row >= 0 && role != judgement.roles.role.end())
      record_.process_role(written.row, diagnose::role_name(role->second));
  }
  record_.verdict(json, time);
  record_.commit();
}

}  // namespace plimsoll::watch
