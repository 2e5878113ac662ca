#include "report/verdict_json.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::report {

nlohmann::ordered_json verdict_json(const verdict::Verdict& v, const Culprit* culprit) {
  using Json = nlohmann::ordered_json;
  auto maybe = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  auto text = [](const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); };
  Json out;
  out["verdict"] = kind_name(v.kind);
  out["rate_bytes_per_second"] = v.rate;
  out["rate_interval"] = {v.rate_low, v.rate_high};
  out["rate_bytes_per_step"] = maybe(v.rate_per_step);
  out["step_unit"] = v.rate_per_step ? Json(v.step_unit) : Json(nullptr);
  out["floor_start_bytes"] = v.floor_start;
  out["floor_end_bytes"] = v.floor_end;
  out["onset_seconds"] = v.onset;
  out["judged_seconds"] = {v.judged_from, v.judged_until};
  out["seconds_to_limit"] = maybe(v.seconds_to_limit);
  out["limit_bytes"] = v.limit_bytes > 0 ? Json(v.limit_bytes) : Json(nullptr);
  if (culprit)
    out["culprit"] = {{"pid", culprit->pid > 0 ? Json(culprit->pid) : Json(nullptr)},
                      {"name", culprit->name},
                      {"role", text(culprit->role)},
                      {"share", culprit->share}};
  else
    out["culprit"] = nullptr;
  out["spikes"] = {
      {"count", v.spikes.count}, {"typical_bytes", v.spikes.typical_bytes}, {"phase", text(v.spikes.phase)}};
  out["samples"] = v.samples;
  out["growing"] = v.growing;
  out["confidence"] = v.confidence;
  out["ruled_out_bytes_per_second"] = v.ruled_out_rate;
  out["needs_seconds"] = v.kind == verdict::Kind::undecided ? Json(v.needs_seconds) : Json(nullptr);
  out["period_seconds"] = v.period > 0 ? Json(v.period) : Json(nullptr);
  out["explanation"] = v.explanation;
  out["sentence"] = v.sentence;
  return out;
}

}  // namespace plimsoll::report
