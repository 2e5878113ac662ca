#include "report/fleet.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/units.hpp"
#include "platform/machine.hpp"
#include "report/compare.hpp"
#include "report/shown_text.hpp"

namespace plimsoll::report {
namespace {

constexpr size_t curve_points = 48;

std::string setting(const RunData& data, std::string_view key) {
  for (const auto& [name, value] : data.configuration)
    if (name == key) return shown(value);
  return "";
}

Member member_of(const std::string& path, double limit) {
  Member member;
  member.path = path;
  member.name = run_name(path);
  try {
    const RunData data = read_run_data(path, limit);
    const std::string rank = setting(data, "rank");
    std::from_chars(rank.data(), rank.data() + rank.size(), member.rank);
    member.node = setting(data, "node"), member.job = setting(data, "job");
    member.kind = shown(data.run.kind), member.started = shown(data.run.started);
    member.model = setting(data, "model.name");
    if (member.model.empty()) member.model = setting(data, "preset");  // of older files
    if (member.model.empty()) member.model = setting(data, "command");
    if (member.rank >= 0)
      member.name = fmt::format("rank {}{}", member.rank, member.node.empty() ? "" : " on " + member.node);
    if (!data.memory.empty()) member.seconds = data.memory.back().time;
    for (const RunReader::Memory& row : data.memory)
      member.peak = std::fmax(member.peak, double(footprint(row)));
    for (size_t i = 0; i < curve_points && !data.memory.empty(); ++i)
      member.curve.push_back(
          double(footprint(data.memory[i * (data.memory.size() - 1) / (curve_points - 1)])));
    if (!data.steps.empty()) member.loss = data.steps.back().loss;
    if (!data.evaluations.empty()) member.loss = data.evaluations.back().loss;
    member.speed = speed_of(data);
    if (data.judgement) {
      member.judged = true;
      member.verdict = data.judgement->verdict;
      if (member.verdict.floor_end > 0) member.floor = member.verdict.floor_end;
    }
  } catch (const Error& error) {
    member.unread = shown(error.what());
  }
  return member;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return unknown_real;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// "rank 17 on b leaks: 2.10 MB per step"
std::string leak_text(const Member& member) {
  const verdict::Verdict& v = member.verdict;
  return fmt::format(
      "{} leaks: {}", member.name,
      v.rate_per_step ? fmt::format("{} per {}", format_bytes(uint64_t(*v.rate_per_step)), shown(v.step_unit))
                      : fmt::format("{} per minute", format_bytes(uint64_t(v.rate * 60))));
}

// What the runs beside a leak are; those that cannot be read are told of at the end.
std::string beside_leaks(const Fleet& fleet, size_t undecided) {
  const size_t all = fleet.members.size(), clean = fleet.judged - fleet.leaks - undecided,
               unjudged = all - fleet.judged - fleet.unread;
  if (fleet.leaks == 1 && clean == all - 1 && clean > 0)
    return clean == 1 ? "; the other does not" : fmt::format("; the other {} do not", clean);
  std::string text = fleet.leaks > 1 ? fmt::format("; {} of {} leak", fleet.leaks, all) : "";
  const auto add = [&](size_t count, const char* one, const char* many) {
    if (count) text += fmt::format("; {} {}", count, count == 1 ? one : many);
  };
  add(clean, "does not", "do not");
  add(undecided, "is undecided", "are undecided");
  add(unjudged, "has too few measurements to be judged", "have too few measurements to be judged");
  return text;
}

std::string sentence_for(const Fleet& fleet) {
  const size_t all = fleet.members.size();
  const auto undecided =
      size_t(std::count_if(fleet.members.begin(), fleet.members.end(), [](const Member& m) {
        return m.judged && m.verdict.kind == verdict::Kind::undecided;
      }));
  std::string text;
  if (fleet.leaks > 0)
    text = leak_text(fleet.members[fleet.worst]) + beside_leaks(fleet, undecided) + ".";
  else if (fleet.judged == 0)
    text = fmt::format("None of {} run{} has enough measurements to be judged.", all, all == 1 ? "" : "s");
  else if (undecided)
    text = fmt::format("No leak found; {} of {} run{} {} undecided.", undecided, all, all == 1 ? "" : "s",
                       undecided == 1 ? "is" : "are");
  else
    text = fmt::format("No leak in {} run{}.", fleet.judged, fleet.judged == 1 ? "" : "s");
  if (std::isfinite(fleet.median_floor)) {
    const auto highest =
        std::max_element(fleet.members.begin(), fleet.members.end(), [](const Member& a, const Member& b) {
          return (std::isfinite(a.floor) ? a.floor : -1) < (std::isfinite(b.floor) ? b.floor : -1);
        });
    text += fmt::format(" Floor: {} at the median, {} at {} (+{:.0f} %).",
                        format_bytes(uint64_t(fleet.median_floor)), format_bytes(uint64_t(highest->floor)),
                        highest->name, 100 * fleet.skew);
  }
  if (fleet.unread)
    text += fmt::format(" {} of {} file{} could not be read.", fleet.unread, all, all == 1 ? "" : "s");
  return text;
}

}  // namespace

Fleet read_fleet(std::span<const std::string> paths, double limit) {
  if (paths.size() > most_members)
    fail_input("{} runs are too many; at most {} are shown together", paths.size(), most_members);
  Fleet fleet;
  fleet.members.resize(paths.size());
  std::atomic<size_t> next{0};
  const auto read = [&] {
    for (size_t i; (i = next++) < paths.size();) fleet.members[i] = member_of(paths[i], limit);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < std::min<int>(platform::usable_processors(), int(paths.size())); ++i)
    helpers.emplace_back(read);
  read();
  for (std::thread& helper : helpers) helper.join();

  std::vector<double> floors;
  for (const Member& member : fleet.members) {
    if (!member.unread.empty()) ++fleet.unread;
    if (!member.judged) continue;
    ++fleet.judged;
    if (std::isfinite(member.floor)) floors.push_back(member.floor);
    if (member.verdict.kind == verdict::Kind::leak) ++fleet.leaks;
  }
  fleet.median_floor = median_of(floors);
  if (!floors.empty()) fleet.skew = *std::max_element(floors.begin(), floors.end()) / fleet.median_floor - 1;
  if (!fleet.members.empty()) fleet.worst = size_t(worst_first(fleet).front() - fleet.members.data());
  fleet.sentence = sentence_for(fleet);
  return fleet;
}

std::vector<std::string> find_runs(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> found;
  if (fs::exists(fs::path(folder) / "run.db", error)) found.push_back((fs::path(folder) / "run.db").string());
  fs::directory_iterator entries(folder, error);
  if (error)
    fail_input("cannot read the folder '{}': {}; give one that holds run folders or run files", folder,
               error.message());
  for (const auto& entry : entries) {
    if (entry.is_directory(error) && fs::exists(entry.path() / "run.db", error))
      found.push_back((entry.path() / "run.db").string());
    else if (entry.path().extension() == ".db" && entry.path().filename() != "run.db")
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<const Member*> worst_first(const Fleet& fleet) {
  std::vector<const Member*> order;
  for (const Member& member : fleet.members) order.push_back(&member);
  const auto weight = [](const Member* m) {
    const bool leak = m->judged && m->verdict.kind == verdict::Kind::leak;
    return std::pair(leak ? m->verdict.rate : -1, std::isfinite(m->floor) ? m->floor : -1);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Member* a, const Member* b) { return weight(a) > weight(b); });
  return order;
}

}  // namespace plimsoll::report
