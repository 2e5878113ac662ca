#include "live/terminal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/signals.hpp"

namespace plimsoll::live {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

// Columns a code point takes: none for marks that combine, two for wide ones; rather too many than too few.
int width_of(uint32_t code) {
  if ((code >= 0x300 && code < 0x370) || (code >= 0x200b && code <= 0x200f) ||
      (code >= 0xfe00 && code < 0xfe10))
    return 0;
  const bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                    (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                    (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xffe7) ||
                    (code >= 0x2600 && code < 0x27c0) || code >= 0x1f000;
  return wide ? 2 : 1;
}

}  // namespace

bool is_terminal(int file) {
  const char* terminal = std::getenv("TERM");
  return platform::is_tty(file) && !(terminal && std::string_view(terminal) == "dumb");
}

bool speaks_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (is_set(name)) {
      const std::string_view value = std::getenv(name);
      return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
    }
  return false;
}

bool wants_colour() { return !is_set("NO_COLOR"); }

std::string_view clip(std::string_view text, int columns) {
  size_t at = 0;
  for (int used = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == 0x1b) {  // ours: ESC [ … m
      at = std::min(text.find('m', at), text.size() - 1) + 1;
      continue;
    }
    const size_t length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    uint32_t code = length == 1 ? byte : byte & (0x7fu >> length);
    for (size_t i = 1; i < length && at + i < text.size(); ++i)
      code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
    used += width_of(code);
    if (used > columns) break;
    at = std::min(at + length, text.size());
  }
  return text.substr(0, at);
}

std::string_view spark(int level, bool unicode) {
  static constexpr std::string_view blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::string_view plain = "_.-~=+*#";
  level = std::clamp(level, 0, 7);
  return unicode ? blocks[level] : plain.substr(size_t(level), 1);
}

template <typename... Args>
void BottomRows::add(const char* format, Args... args) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, format, args...);
  add_text({text, size_t(std::clamp(length, 0, int(sizeof text) - 1))});
}

void BottomRows::add_text(std::string_view text) {
  text = text.substr(0, buffer_.size() - used_);
  std::memcpy(buffer_.data() + used_, text.data(), text.size());
  used_ += text.size();
}

// A view is a courtesy: a terminal that has gone must not stop a run.
void BottomRows::flush() {
  platform::write_all(file_, {buffer_.data(), used_});
  used_ = 0;
}

// Takes `rows` rows at the bottom: what stands there moves up, and from now on only what is above them scrolls.
void BottomRows::lay_out(platform::TtySize size, int rows) {
  if (rows_) {
    add_text("\0337\x1b[r");
    for (int row = size_.rows - rows_ + 1; row <= size_.rows && row <= size.rows; ++row)
      add("\x1b[%d;1H\x1b[2K", row);
    add_text("\0338");
  }
  for (int i = 0; i < rows; ++i) add_text("\033D");  // down a line, whatever column it is in
  if (rows) add("\x1b[%dA\0337\x1b[1;%dr\0338", rows, size.rows - rows);
  size_ = size;
  rows_ = rows;
  restore_terminal_at_death(rows ? file_ : -1);
}

void BottomRows::draw(std::string_view lines) {
  const platform::TtySize size = platform::tty_size(file_);
  const int wanted = std::min(int(std::count(lines.begin(), lines.end(), '\n')), size.rows / 2);
  const bool resized = size.columns != size_.columns || size.rows != size_.rows;
  // It grows as needed and shrinks only with the terminal: a view that jumps is hard to read.
  if (resized || wanted > rows_) lay_out(size, size.rows < 4 || size.columns < 8 ? 0 : wanted);
  if (!rows_) return flush();
  add_text("\0337\x1b[?25l");
  for (int row = 0; row < rows_; ++row) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    add("\x1b[%d;1H\x1b[2K", size.rows - rows_ + 1 + row);
    add_text(clip(lines.substr(0, end), size.columns - 1));
    add_text("\x1b[0m");
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  add_text("\0338\x1b[?25h");
  flush();
}

void BottomRows::close() {
  if (!rows_) return;
  lay_out(platform::tty_size(file_), 0);
  add_text("\x1b[?25h");
  flush();
  size_ = {};
}

}  // namespace plimsoll::live
