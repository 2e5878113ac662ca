#include "report/judgement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/mask.hpp"
#include "base/units.hpp"
#include "report/sites_text.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

std::string trend(const verdict::Series& series) {
  diagnose::Drift moved = diagnose::drift(series);
  if (moved.stable()) return "stable";
  double change = moved.last - moved.first;
  return fmt::format("{}{}", change > 0 ? "+" : "-", format_bytes(uint64_t(std::fabs(change))));
}

}  // namespace

std::string final_text(const diagnose::Judgement& judgement, const diagnose::History& history,
                       const std::vector<std::string>& notes, const diagnose::SiteReport* sites) {
  const verdict::Verdict& v = judgement.verdict;
  std::string text = fmt::format("verdict: {}\n", v.sentence);
  // The growth of what carries it is told by the verdict's own rate, since its onset.
  const double since = v.kind == verdict::Kind::leak ? v.judged_until - v.onset : 0;
  auto culprit_mark = [&](const proc::ProcessId& id) {
    return judgement.culprit && judgement.culprit_id == id
               ? fmt::format("  <- {:.0f} % of the growth ({})", 100 * judgement.culprit->share,
                             format_bytes(uint64_t(std::max(0., judgement.culprit->share * v.rate * since))))
               : "";
  };
  std::vector<const diagnose::Lifetime*> shown;
  for (const auto& [id, life] : history.processes()) {
    auto role = judgement.roles.role.find(id);
    if (role != judgement.roles.role.end() && role->second != diagnose::ProcessRole::worker &&
        role->second != diagnose::ProcessRole::short_lived)
      shown.push_back(&life);
    else if (judgement.culprit && !judgement.culprit->pool && judgement.culprit_id == id)
      shown.push_back(&life);
  }
  std::sort(shown.begin(), shown.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });
  if (shown.size() > 12) shown.resize(12);
  for (const diagnose::Lifetime* life : shown) {
    auto why = judgement.roles.explanation.find(life->id);
    text += fmt::format(
        "  {:>7} {}: {}, peak {}, {}{}\n", life->id.pid, escape(life->name),
        why == judgement.roles.explanation.end() ? "one of a worker pool: " + format_bytes(life->bytes)
                                                 : why->second,
        format_bytes(life->peak),
        judgement.culprit && judgement.culprit_id == life->id && since > 0 ? "growing" : trend(life->series),
        culprit_mark(life->id));
  }
  for (const diagnose::WorkerPool& pool : judgement.roles.pools) {
    const bool its =
        std::find(pool.members.begin(), pool.members.end(), judgement.culprit_id) != pool.members.end();
    const std::string mark =
        its && judgement.culprit && judgement.culprit->pool ? culprit_mark(judgement.culprit_id) : "";
    text += fmt::format("  {:>7} {}: {}{}\n", "", escape(history.processes().at(pool.members.front()).name),
                        pool.explanation, mark);
  }
  uint64_t gone = history.short_lived();
  for (const auto& [id, role] : judgement.roles.role) gone += role == diagnose::ProcessRole::short_lived;
  if (gone)
    text += fmt::format(
        "  {:>7} short-lived: {}\n", "",
        gone == 1 ? "1 process that has ended" : format_count(gone) + " processes that have ended");
  if (sites) text += sites_text(*sites);
  for (const std::string& note : notes) text += "note: " + note + "\n";
  if (!judgement.next.empty()) text += "next: " + judgement.next + "\n";
  return text;
}

nlohmann::ordered_json final_json(const diagnose::Judgement& judgement, const diagnose::History& history,
                                  double until, bool all, const diagnose::SiteReport* sites) {
  Json json = to_json(judgement);
  if (all) {
    json["processes"] = Json::array();
    for (const auto& [id, life] : history.processes()) {
      verdict::Verdict own = verdict::judge(verdict::samples_of(life.series, until),
                                            {.limit_bytes = judgement.verdict.limit_bytes});
      Json entry{{"pid", id.pid}, {"name", escape(life.name)}, {"command", life.command}};
      auto role = judgement.roles.role.find(id);
      entry["role"] = diagnose::role_name(role == judgement.roles.role.end() ? diagnose::ProcessRole::other
                                                                             : role->second);
      entry["bytes"] = life.bytes, entry["rss"] = life.rss, entry["peak_bytes"] = life.peak;
      const Json own_json = verdict::to_json({own, {}});
      for (const char* key : {"verdict", "rate_bytes_per_second", "rate_interval", "floor_start_bytes",
                              "floor_end_bytes", "samples", "sentence"})
        entry[key] = own_json[key];
      json["processes"].push_back(std::move(entry));
    }
  }
  if (sites) add_sites(json, *sites);
  return json;
}

std::string final_line(const diagnose::Judgement& judgement, const diagnose::History& history, double until,
                       bool all, const diagnose::SiteReport* sites) {
  return verdict::to_text(final_json(judgement, history, until, all, sites));
}

}  // namespace plimsoll::report
