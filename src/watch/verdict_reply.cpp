#include "watch/verdict_reply.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::watch {

std::string verdict_reply(const verdict::Judgement& judgement, uint64_t memory, const std::string& line) {
  nlohmann::ordered_json out = verdict::to_json(judgement);
  out["memory_bytes"] = memory;
  out["line"] = line.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(line);
  return verdict::to_text(out);
}

}  // namespace plimsoll::watch
