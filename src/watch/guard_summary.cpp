#include "watch/guard_summary.hpp"

#include <nlohmann/json.hpp>

#include "report/sites_text.hpp"

namespace plimsoll::watch {

std::string guard_json(const GuardSummary& summary, const ActionLog& log, const diagnose::SiteReport* sites) {
  using Json = nlohmann::ordered_json;
  Json json{{"level", level_name(summary.highest)}, {"actions", Json::array()}};
  for (const TreeAction& action : log.actions()) {
    json["actions"].push_back({{"seconds", action.time},
                               {"level", level_name(action.level)},
                               {"action", action.what.data()},
                               {"pid", action.pid ? Json(action.pid) : nullptr},
                               {"used_bytes", action.used},
                               {"reason", action.reason.data()},
                               {"effect", action.effect.data()}});
    if (sites) json["actions"].back()["line"] = action.line[0] ? Json(action.line.data()) : nullptr;
  }
  json["peak_tree_bytes"] = summary.peak_tree, json["limit_bytes"] = summary.limit;
  json["stopped"] = summary.stopped;
  json["actions_left_out"] = log.left_out(), json["readings"] = summary.readings;
  json["seconds"] = summary.seconds;
  json["guard"] = {{"peak_bytes", summary.own_peak},
                   {"resident_bytes", summary.own_resident},
                   {"allocations", summary.allocations ? Json(*summary.allocations) : nullptr}};
  if (sites) json["sites"] = report::sites_json(*sites);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::watch
