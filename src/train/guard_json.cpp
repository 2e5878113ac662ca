#include "train/guard_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll {

nlohmann::ordered_json guard_json(const GuardReport& report) {
  if (!report.on) return nullptr;
  auto actions = nlohmann::ordered_json::array();
  for (const GuardAction& a : report.actions)
    actions.push_back({{"action", action_name(a.kind)},
                       {"iteration", a.iteration},
                       {"time", a.time},
                       {"seconds", a.seconds},
                       {"reason", a.reason.data()},
                       {"rss_before_bytes", a.rss_before},
                       {"rss_after_bytes", a.rss_after},
                       {"planned_bytes", a.planned},
                       {"as_planned", a.as_planned()},
                       {"micro_batch", a.micro_batch},
                       {"plan_bytes", a.plan_bytes}});
  const bool stopped = std::any_of(report.actions.begin(), report.actions.end(),
                                   [](const GuardAction& a) { return a.kind == GuardAction::Kind::stop; });
  return {{"level", guard::level_name(report.level)},
          {"limit_bytes", report.limit ? nlohmann::ordered_json(report.limit) : nullptr},
          {"actions", std::move(actions)},
          {"unlisted_actions", report.unlisted},
          {"stopped", stopped}};
}

}  // namespace plimsoll
