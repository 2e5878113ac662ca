#include "report/shown_text.hpp"

#include "base/mask.hpp"

namespace plimsoll::report {
namespace {

constexpr size_t shown_bytes = 400, shown_frames = 64;

// At a boundary between characters.
std::string cut(std::string text) {
  if (text.size() <= shown_bytes) return text;
  size_t end = shown_bytes;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

std::string shown(std::string_view text) {
  return cut(escape(mask_arguments({std::string(text)}).front().substr(0, 4 * shown_bytes)));
}

std::string shown_value(const std::string& key, const std::string& value) {
  const std::string before = shown(key + "=");
  const std::string both = shown(key + "=" + value);
  return both.starts_with(before) ? both.substr(before.size()) : shown(value);
}

std::string shown_sentence(std::string_view text) {
  return escape(mask_arguments({std::string(text)}).front());
}

std::vector<std::string> frames(std::string_view stack) {
  std::vector<std::string> out;
  while (!stack.empty() && out.size() < shown_frames) {
    const size_t end = std::min(stack.find('\n'), stack.size());
    if (end > 0) out.emplace_back(stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return out;
}

std::string named_frame(const RunReader::Site& site) {
  const auto stack = frames(site.stack);
  return !site.place.empty() || stack.empty() ? site.place : stack.back();
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace plimsoll::report
