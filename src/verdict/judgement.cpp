#include "verdict/judgement.hpp"

#include "base/json.hpp"

namespace plimsoll::verdict {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json if_positive(double value) { return value > 0 ? Json(value) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// Fields of an object, each of the type it should have or as though it were not there.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}
  std::optional<double> maybe(const char* key) const {
    const Json* value = find(key);
    return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
  }
  double real(const char* key) const { return maybe(key).value_or(0); }
  size_t count(const char* key) const {
    const Json* value = find(key);
    return value && value->is_number_unsigned() ? value->get<size_t>() : 0;
  }
  bool truth(const char* key) const {
    const Json* value = find(key);
    return value && value->is_boolean() && value->get<bool>();
  }
  std::string text(const char* key) const {
    const Json* value = find(key);
    return value && value->is_string() ? value->get<std::string>() : "";
  }
  const Json* find(const char* key) const {
    const auto at = object_.is_object() ? object_.find(key) : object_.end();
    return at == object_.end() ? nullptr : &*at;
  }

 private:
  const Json& object_;
};

std::optional<Kind> kind_of(const std::string& name) {
  for (const Kind kind : {Kind::leak, Kind::no_leak, Kind::undecided})
    if (name == kind_name(kind)) return kind;
  return std::nullopt;
}

}  // namespace

nlohmann::ordered_json to_json(const Judgement& judgement) {
  const Verdict& v = judgement.verdict;
  Json out;
  out["verdict"] = kind_name(v.kind);
  out["rate_bytes_per_second"] = v.rate;
  out["rate_interval"] = {v.rate_low, v.rate_high};
  out["rate_bytes_per_step"] = or_null(v.rate_per_step);
  out["step_unit"] = v.rate_per_step ? Json(v.step_unit) : Json(nullptr);
  out["floor_start_bytes"] = v.floor_start;
  out["floor_end_bytes"] = v.floor_end;
  out["onset_seconds"] = v.onset;
  out["judged_seconds"] = {v.judged_from, v.judged_until};
  out["seconds_to_limit"] = or_null(v.seconds_to_limit);
  out["limit_bytes"] = if_positive(v.limit_bytes);
  out["culprit"] = nullptr;
  if (const auto& culprit = judgement.culprit)
    out["culprit"] = {{"pid", culprit->pid > 0 ? Json(culprit->pid) : Json(nullptr)},
                      {"name", culprit->name},
                      {"role", text_or_null(culprit->role)},
                      {"share", culprit->share},
                      {"members", culprit->members}};
  out["spikes"] = {{"count", v.spikes.count},
                   {"typical_bytes", v.spikes.typical_bytes},
                   {"phase", text_or_null(v.spikes.phase)}};
  out["samples"] = v.samples;
  out["growing"] = v.growing;
  out["confidence"] = v.confidence;
  out["ruled_out_bytes_per_second"] = if_positive(v.ruled_out_rate);
  out["needs_seconds"] = v.kind == Kind::undecided ? if_positive(v.needs_seconds) : Json(nullptr);
  out["period_seconds"] = if_positive(v.period);
  out["explanation"] = v.explanation;
  out["sentence"] = v.sentence;
  out["next"] = text_or_null(judgement.next);
  return out;
}

std::string to_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const Judgement& judgement) { return to_text(to_json(judgement)); }

std::optional<Judgement> read_judgement(std::string_view json) {
  const Json whole = parse_json<Json>(json);
  const Fields fields(whole);
  const auto kind = kind_of(fields.text("verdict"));
  if (!kind) return std::nullopt;
  Judgement judgement;
  Verdict& v = judgement.verdict;
  v.kind = *kind;
  v.rate = fields.real("rate_bytes_per_second");
  const Json* interval = fields.find("rate_interval");
  if (interval && interval->is_array() && interval->size() == 2 && (*interval)[0].is_number() &&
      (*interval)[1].is_number())
    v.rate_low = (*interval)[0].get<double>(), v.rate_high = (*interval)[1].get<double>();
  v.rate_per_step = fields.maybe("rate_bytes_per_step");
  v.floor_start = fields.real("floor_start_bytes");
  v.floor_end = fields.real("floor_end_bytes");
  v.onset = fields.real("onset_seconds");
  v.seconds_to_limit = fields.maybe("seconds_to_limit");
  v.limit_bytes = fields.real("limit_bytes");
  if (const Json* culprit = fields.find("culprit"); culprit && culprit->is_object()) {
    const Fields of(*culprit);
    const double pid = of.real("pid");
    judgement.culprit = Culprit{.pid = pid > 0 && pid < 1e9 ? int(pid) : 0,
                                .name = of.text("name"),
                                .role = of.text("role"),
                                .share = of.real("share"),
                                .members = std::max(1, int(of.count("members")))};
  }
  if (const Json* spikes = fields.find("spikes"); spikes && spikes->is_object()) {
    const Fields of(*spikes);
    v.spikes = {of.count("count"), of.real("typical_bytes"), of.text("phase")};
  }
  v.samples = fields.count("samples");
  v.growing = fields.truth("growing");
  v.confidence = fields.real("confidence");
  v.ruled_out_rate = fields.real("ruled_out_bytes_per_second");
  v.needs_seconds = fields.real("needs_seconds");
  v.period = fields.real("period_seconds");
  v.explanation = fields.text("explanation");
  v.sentence = fields.text("sentence");
  judgement.next = fields.text("next");
  if (const std::string unit = fields.text("step_unit"); !unit.empty()) v.step_unit = unit;
  if (const Json* judged = fields.find("judged_seconds"); judged && judged->is_array() &&
                                                          judged->size() == 2 && (*judged)[0].is_number() &&
                                                          (*judged)[1].is_number())
    v.judged_from = (*judged)[0].get<double>(), v.judged_until = (*judged)[1].get<double>();
  return judgement;
}

}  // namespace plimsoll::verdict
