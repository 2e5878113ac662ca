// Reserves the bottom rows of a terminal for a view while everything else scrolls above it. Positions are
// absolute and the size is read at every update, so the terminal may be resized at any time. Uses fixed buffers.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "platform/descriptors.hpp"

namespace plimsoll::live {

// A terminal that takes orders: not a pipe, not a dumb one.
bool is_terminal(int file);
bool speaks_unicode();  // by the locale
bool wants_colour();    // NO_COLOR is not set

// The longest beginning of UTF-8 `text` that takes at most `columns` columns; escape sequences for colours take none.
std::string_view clip(std::string_view text, int columns);

// A character for the `level`-th of eight heights.
std::string_view spark(int level, bool unicode);

class BottomRows {
 public:
  explicit BottomRows(int file) : file_(file) {}
  ~BottomRows() { close(); }
  BottomRows(const BottomRows&) = delete;
  BottomRows& operator=(const BottomRows&) = delete;

  // As many of `lines` (each ending in \n) as half of the terminal has room for, cut to its width less one column: some
  // terminals wrap as soon as the last is filled. Less than four rows: nothing is shown.
  void draw(std::string_view lines);
  // Gives the rows back, empty, to whatever is written next. A later drawing takes them again.
  void close();

 private:
  void lay_out(platform::TtySize size, int rows);
  template <typename... Args>
  void add(const char* format, Args... args);
  void add_text(std::string_view text);
  void flush();

  int file_;
  platform::TtySize size_;  // as of the last drawing
  int rows_ = 0;            // taken; 0: none
  std::array<char, 16384> buffer_;
  size_t used_ = 0;
};

}  // namespace plimsoll::live
