// The verdict so far, for a watched program that asks for it over the socket: one JSON object in one datagram.
#pragma once
#include <string>

#include "verdict/judgement.hpp"

namespace plimsoll::watch {

// `memory` is what the tree holds now; `line` the line of source that grows, empty where it is not known.
std::string verdict_reply(const verdict::Judgement& judgement, uint64_t memory, const std::string& line);

}  // namespace plimsoll::watch
