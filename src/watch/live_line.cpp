#include "watch/live_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/mask.hpp"
#include "base/units.hpp"

namespace plimsoll::watch {
namespace {

std::string estimated(const observe::Snapshot& snapshot) {
  return snapshot.pss_measured || snapshot.denied ? "" : "~";
}

}  // namespace

std::string live_line(const observe::Snapshot& snapshot, const Reached& reached) {
  const size_t living = snapshot.living();
  std::string line =
      fmt::format("{:>7}  {}{} in {} process{}", format_duration(snapshot.time), estimated(snapshot),
                  format_bytes(snapshot.bytes), living, living == 1 ? "" : "es");
  if (living > 1) line += fmt::format(" (RSS {})", format_bytes(snapshot.rss));
  if (snapshot.gpu) line += fmt::format(", GPU {}", format_bytes(snapshot.gpu));
  if (reached.step)
    line += fmt::format(", step {}", format_count(uint64_t(std::max<int64_t>(*reached.step, 0))));
  if (!reached.phase.empty()) line += fmt::format(", phase {}", escape(reached.phase));
  line += fmt::format(", {} available", format_bytes(snapshot.system.available));
  if (snapshot.system.limit) line += fmt::format(" (limit {})", format_bytes(snapshot.system.limit->bytes));
  if (snapshot.system.pressure && snapshot.system.pressure->some10 >= 1)
    line += fmt::format(", memory pressure {:.0f} %", snapshot.system.pressure->some10);
  return line;
}

}  // namespace plimsoll::watch
