#include "heap/memory_classes.hpp"

#include <algorithm>
#include <charconv>

namespace plimsoll::heap {
namespace {

// "7f00-7f10 rw-p 00000000 00:00 0   [stack]": the hexadecimal number at the front, and what follows it.
bool take_hexadecimal(std::string_view& text, uint64_t& number) {
  const auto got = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (got.ec != std::errc{}) return false;
  text.remove_prefix(size_t(got.ptr - text.data()));
  return true;
}

std::string_view skip_fields(std::string_view text, int fields) {
  for (; fields > 0; --fields) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    text.remove_prefix(std::min(text.find(' '), text.size()));
  }
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

constexpr uint64_t largest_guard = 64 << 10;

}  // namespace

void SmapsClassifier::begin_mapping(std::string_view line) {
  uint64_t begin = 0, end = 0;
  into_ = &classes_.other;
  if (!take_hexadecimal(line, begin) || line.empty() || line[0] != '-') return;
  line.remove_prefix(1);
  if (!take_hexadecimal(line, end) || line.size() < 6) return;
  const std::string_view rights = line.substr(1, 4);
  const std::string_view name = skip_fields(line, 4);
  const bool after_guard = guard_end_ == begin && rights[1] == 'w';
  guard_end_ = rights == "---p" && name.empty() && end - begin <= largest_guard ? end : 0;
  if (name.starts_with("/dev/shm/") || name.starts_with("/memfd:") || name.starts_with("/SYSV") ||
      name.starts_with("/dev/zero")) {
    into_ = &classes_.shared;
  } else if (name.find("/plimsoll-heap-") != name.npos) {
    into_ = &classes_.other;
  } else if (name.starts_with('/')) {
    into_ = &classes_.file;
  } else if (name.starts_with("[stack")) {
    into_ = &classes_.stack;
  } else if (name.empty() || name == "[heap]" || name.starts_with("[anon")) {
    if (rights[3] == 's')
      into_ = &classes_.shared;
    else
      into_ = after_guard && name.empty() ? &classes_.stack : &classes_.anonymous;
  }
}

void SmapsClassifier::add_line(std::string_view line) {
  if (line.empty()) return;
  // Fields begin with a capital letter, mappings with a hexadecimal address in small letters.
  if (line[0] < 'A' || line[0] > 'Z') return begin_mapping(line);
  if (into_ == nullptr || !line.starts_with("Pss:")) return;
  line.remove_prefix(4);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  uint64_t kilobytes = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), kilobytes).ec == std::errc{} &&
      kilobytes < (1ull << 40))
    *into_ += kilobytes * 1024;
}

}  // namespace plimsoll::heap
