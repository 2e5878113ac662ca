// The options `watch` and `profile` have in common.
#pragma once
#include <memory>
#include <string>

#include "cli/options.hpp"
#include "watch/watch.hpp"

namespace plimsoll::cli {

struct WatchText {
  std::string interval = "1s", duration, limit, until = "tree", rate;
  bool no_steps = false;
  watch::WatchOptions options;
};

std::shared_ptr<WatchText> add_watch_flags(Options& flags);
// InputError where it is finer than 1 KiB.
uint64_t parse_sampling_rate(const std::string& text);
// Checks the options and watches.
void run_watch(WatchText& text);

}  // namespace plimsoll::cli
