// The judgement of this library as its users see it.
#pragma once
#include <plimsoll/verdict.hpp>

#include "verdict/verdict.hpp"

namespace plimsoll {

MemoryVerdict public_verdict(const verdict::Verdict& judged);

}  // namespace plimsoll
