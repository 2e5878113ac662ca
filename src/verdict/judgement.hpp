// A verdict and who carries the growth: what every consumer shows, and its stable JSON form (docs/verdict.md
// lists the fields). Text is made at the edge and read back once.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

struct Culprit {
  int pid = 0;  // 0: not known; of a pool: the member that grows fastest
  bool pool = false;
  std::string name;  // escaped
  std::string role;  // empty: not known
  double share = 1;  // of the growth, 0..1
  double rate = 0;   // bytes a second of its own
  int members = 1;   // of a pool: those that grow
};

struct Judgement {
  Verdict verdict;  // its sentence names the culprit
  std::optional<Culprit> culprit;
  std::string next = {};  // what to do about it, in one line; empty where nothing needs doing
};

// Keys in the documented order; numbers that do not exist are null.
nlohmann::ordered_json to_json(const Judgement& judgement);
// On one line; bytes that are not UTF-8 are replaced.
std::string to_text(const nlohmann::ordered_json& json);
std::string to_text(const Judgement& judgement);
// As it was written, but for what the text does not say; nothing where it is not such an object.
std::optional<Judgement> read_judgement(std::string_view json);

}  // namespace plimsoll::verdict
