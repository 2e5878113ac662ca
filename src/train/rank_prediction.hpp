// What a run on several ranks would take, without starting it: the memory of a rank, and the time of a step as arithmetic of its
// work, its messages, and a network of known bandwidth and latency.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "train/settings.hpp"

namespace plimsoll {

struct Network {
  double bytes_per_second = 0;  // in each direction, of each rank; 0: the ranks are processes of one machine
  double latency = 0;           // seconds
};
// "10Gbit", "100Mbit"; "20us", "5ms". InputError naming the option.
double parse_bandwidth(std::string_view text);  // bytes a second
double parse_latency(std::string_view text);    // seconds

// How long `seconds` of work of each of `threads` take on `processors`, not more than they. Where threads are no multiple of
// processors, some run alone until the kernel moves others over, so that short steps take whole turns.
double in_turns(double seconds, int threads, int processors);

struct RankPrediction {
  int rank = 0;
  uint64_t plan_bytes = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;  // of a step
  double compute_seconds = 0, exchange_seconds = 0;
  double hidden_seconds = 0;  // of the exchange, beside the backward pass; no part of the two above
};

// Of the first ranks, the middle and the last: those between have shards and leaves like theirs.
std::vector<RankPrediction> predict_ranks(Settings settings, int vocab, int ranks, const Network& network);

}  // namespace plimsoll
