#include "watch/verdict_reply.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::watch {

std::string verdict_reply(const verdict::Verdict* current, uint64_t memory) {
  const verdict::Verdict none;
  const verdict::Verdict& v = current ? *current : none;
  nlohmann::json out = {{"verdict", verdict::kind_name(v.kind)},
                        {"sentence", current ? v.sentence : "There are too few samples to judge."},
                        {"growing", v.growing},
                        {"memory_bytes", memory},
                        {"rate_bytes_per_second", v.rate},
                        {"rate_interval", {v.rate_low, v.rate_high}},
                        {"confidence", v.confidence},
                        {"rate_bytes_per_step", nullptr},
                        {"seconds_to_limit", nullptr}};
  if (v.rate_per_step) out["rate_bytes_per_step"] = *v.rate_per_step;
  if (v.seconds_to_limit) out["seconds_to_limit"] = *v.seconds_to_limit;
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace plimsoll::watch
