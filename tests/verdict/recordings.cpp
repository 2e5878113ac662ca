#include "verdict/recordings.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "verdict/start_up.hpp"

namespace plimsoll::verdict {
namespace {

using Json = nlohmann::json;

// Numbers are written as the differences from one to the next.
std::vector<double> summed(const Json& differences, double unit) {
  std::vector<double> out;
  int64_t sum = 0;
  for (const Json& difference : differences) out.push_back(double(sum += difference.get<int64_t>()) * unit);
  return out;
}

std::vector<Sample> samples(const std::vector<double>& times, const Json& differences, double unit,
                            double until) {
  const std::vector<double> bytes = summed(differences, unit);
  std::vector<Sample> out;
  for (size_t i = 0; i < times.size() && times[i] <= until; ++i) out.push_back({times[i], bytes[i]});
  return out;
}

}  // namespace

std::vector<Recording::Mark> Recording::losing(double until) const {
  size_t first = 0, end = truth.size();
  while (end > 3 && truth[end - 1].time > until) --end;
  while (first + 2 < end && truth[first + 1].lost <= truth.front().lost) ++first;
  first += (end - first) / 20;
  return {truth.begin() + long(first), truth.begin() + long(end)};
}

double Recording::rate(double until) const {
  const auto marks = losing(until);
  return rate_per_step(until) * (marks.back().step - marks.front().step) /
         (marks.back().time - marks.front().time);
}

// Theil's and Sen's slope.
double Recording::rate_per_step(double until) const {
  const auto marks = losing(until);
  std::vector<double> slopes;
  for (size_t i = 0; i < marks.size(); ++i)
    for (size_t j = i + 1; j < marks.size(); ++j)
      if (marks[j].step > marks[i].step)
        slopes.push_back((marks[j].held - marks[i].held) / (marks[j].step - marks[i].step));
  if (slopes.empty()) return 0;
  std::nth_element(slopes.begin(), slopes.begin() + long(slopes.size() / 2), slopes.end());
  return slopes[slopes.size() / 2];
}

double Recording::growth() const {
  const auto marks = losing();
  return rate_per_step() * (marks.back().step - marks.front().step) / marks.front().held;
}

Options Recording::options() const {
  StartUp start_up;
  for (size_t i = 0; i < owned.size(); ++i) start_up.see(owned[i].time, mapped(i));
  return {.limit_bytes = 24e9,
          .steps = steps,
          .first_epoch_end = first_epoch_end,
          .loaded = start_up.over(owned.back().time, owned.front().time),
          .phases = phases,
          .ended = true};
}

std::vector<Recording> read_recordings(const std::string& path) {
  std::vector<Recording> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    Recording r;
    r.name = json.at("name"), r.tell = json.at("tell"), r.seed = json.at("seed"), r.busy = json.at("busy");
    r.leaks = json.at("truth") == "leak", r.filling = json.at("truth") == "fill";
    r.until = json.at("until"), r.total = json.value("total", 0.);
    if (const auto epoch = json.find("first_epoch_end"); epoch != json.end() && epoch->is_number())
      r.first_epoch_end = epoch->get<double>();
    const std::vector<double> times = summed(json.at("t"), 1e-3);
    r.owned = samples(times, json.at("owned"), 1 << 10, r.until);
    r.rss = samples(times, json.at("rss"), 1 << 20, r.until);
    r.available = samples(times, json.at("available"), 1 << 20, r.until);
    const std::vector<double> step_times = summed(json.at("step_t"), 1e-3),
                              steps = summed(json.at("step"), 1);
    for (size_t i = 0; i < steps.size(); ++i) r.steps.push_back({step_times[i], steps[i]});
    for (const Json& phase : json.at("phases")) {
      if (!r.phases.empty()) r.phases.back().end = phase[0];
      r.phases.push_back({phase[0], r.until, phase[1]});
    }
    const std::vector<double> mark_times = summed(json.at("mark_t"), 1e-3),
                              mark_steps = summed(json.at("mark_step"), 1),
                              lost = summed(json.at("mark_lost"), 1024),
                              held = summed(json.at("mark_held"), 1024);
    for (size_t i = 0; i < lost.size(); ++i)
      r.truth.push_back({mark_times[i], mark_steps[i], lost[i], held[i]});
    if (r.truth.size() > 1 && r.owned.size() > 20) out.push_back(std::move(r));
  }
  return out;
}

}  // namespace plimsoll::verdict
