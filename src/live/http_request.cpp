#include "live/http_request.hpp"

#include <algorithm>

namespace plimsoll::live {
namespace {

constexpr size_t most_headers = 64;

// A character of a method or header name (RFC 9110's token).
bool is_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool all_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token);
}
bool is_printable(char c) { return c > ' ' && c < 0x7f; }

bool same_name(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(), [](char one, char other) {
    return (one >= 'A' && one <= 'Z' ? char(one + 32) : one) == other;
  });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The request line; 200 or the refusal.
int parse_line(std::string_view line, HttpRequest& request, bool& needs_host) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) return 400;
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  if (!all_token(request.method)) return 400;
  if (target.size() > longest_target) return 414;
  if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_printable)) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return version.starts_with("HTTP/") ? 505 : 400;
  needs_host = version == "HTTP/1.1";
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  return 200;
}

// One header; 200 or the refusal. A second one of those that decide anything is refused.
int parse_header(std::string_view line, HttpRequest& request, bool& host_seen) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !all_token(line.substr(0, colon))) return 400;
  const std::string_view name = line.substr(0, colon), value = trim(line.substr(colon + 1));
  const auto forbidden = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), forbidden)) return 400;
  if (same_name(name, "host")) {
    if (host_seen) return 400;
    host_seen = true;
    request.host = value;
  } else if (same_name(name, "authorization")) {
    if (!request.authorization.empty()) return 400;
    request.authorization = value;
  } else if (same_name(name, "cookie")) {
    if (!request.cookie.empty()) return 400;
    request.cookie = value;
  } else if (same_name(name, "transfer-encoding") || (same_name(name, "content-length") && value != "0")) {
    return 413;  // nothing here takes a body
  }
  return 200;
}

std::string_view value_of(std::string_view list, std::string_view name, char separator) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    const std::string_view pair = trim(list.substr(0, end));
    if (pair.starts_with(name) && pair.size() > name.size() && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

}  // namespace

ParsedRequest parse_request(std::string_view text) {
  ParsedRequest parsed;
  const size_t end = text.find("\r\n\r\n");
  const std::string_view head = text.substr(0, end);
  // A line that will never be right is refused before the rest has come.
  size_t line_end = head.find("\r\n");
  if (end == text.npos) {
    const size_t line = std::min(line_end, text.size());
    if (line > longest_target + 64)
      parsed.status = 414;
    else if (text.size() >= longest_request)
      parsed.status = 431;
    else if (text.substr(0, line).find('\n') != text.npos || (!text.empty() && !is_token(text.front())))
      parsed.status = 400;
    return parsed;
  }
  bool needs_host = false, host_seen = false;
  parsed.status = parse_line(head.substr(0, line_end), parsed.request, needs_host);
  size_t headers = 0;
  while (parsed.status == 200 && line_end != head.npos) {
    const size_t begin = line_end + 2;
    line_end = head.find("\r\n", begin);
    if (++headers > most_headers) parsed.status = 431;
    if (parsed.status == 200)
      parsed.status = parse_header(head.substr(begin, line_end - begin), parsed.request, host_seen);
  }
  if (parsed.status == 200 && needs_host && !host_seen) parsed.status = 400;
  return parsed;
}

std::string_view query_value(std::string_view query, std::string_view name) {
  return value_of(query, name, '&');
}
std::string_view cookie_value(std::string_view cookie, std::string_view name) {
  return value_of(cookie, name, ';');
}

}  // namespace plimsoll::live
