#include "train/reading_line.hpp"

#include <fmt/format.h>

#include "base/units.hpp"
#include "live/terminal.hpp"
#include "platform/descriptors.hpp"

namespace plimsoll {
namespace {

constexpr auto first_after = std::chrono::seconds(1);

}  // namespace

ReadingLine::ReadingLine(int file)
    : file_(file), terminal_(live::is_terminal(file)), next_(Clock::now() + first_after) {}

ReadingProgress ReadingLine::progress() {
  return [this](uint64_t done, uint64_t total) {
    if (Clock::now() >= next_) show(done, total);
  };
}

void ReadingLine::show(uint64_t done, uint64_t total) {
  const std::string line =
      fmt::format("{}Reading data: {} of {} ({:.0f} %){}", terminal_ ? "\r" : "", format_bytes(done),
                  format_bytes(total), 100 * double(done) / double(total), terminal_ ? "\x1b[K" : "\n");
  platform::write_all(file_, line);
  shown_ = true;
  next_ = Clock::now() + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000));
}

void ReadingLine::finish() {
  if (terminal_ && shown_) platform::write_all(file_, "\r\x1b[K");
  shown_ = false;
}

}  // namespace plimsoll
