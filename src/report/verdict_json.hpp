// The stable JSON form of a verdict (docs/verdict.md lists the fields).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "verdict/verdict.hpp"

namespace plimsoll::report {

// Who carries the growth, where that is known.
struct Culprit {
  int pid = 0;
  std::string name, role;
  double share = 1;  // of the growth
};

// Keys in the documented order; numbers that do not exist are null.
nlohmann::ordered_json verdict_json(const verdict::Verdict& verdict, const Culprit* culprit = nullptr);

}  // namespace plimsoll::report
