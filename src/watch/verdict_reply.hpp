// The verdict so far, for a watched program that asks for it over the socket: one JSON object in one datagram.
#pragma once
#include <string>

#include "verdict/verdict.hpp"

namespace plimsoll::watch {

// `current` is null before there is anything to judge; `memory` is what the tree holds now.
std::string verdict_reply(const verdict::Verdict* current, uint64_t memory);

}  // namespace plimsoll::watch
