#include "report/json_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace plimsoll::report {

std::string safe_in_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", c);
    else
      out += c;
  }
  return out;
}

void JsonText::separate() {
  if (!fresh_) out_ += ',';
  fresh_ = false;
}

JsonText& JsonText::open(char bracket) {
  separate();
  out_ += bracket;
  fresh_ = true;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  out_ += bracket;
  fresh_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  text(name);
  out_ += ':';
  fresh_ = true;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  separate();
  out_ += safe_in_html(
      nlohmann::json(std::string(value)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return *this;
}

JsonText& JsonText::integer(int64_t value) {
  separate();
  out_ += fmt::format_int(value).c_str();
  return *this;
}

JsonText& JsonText::count(int64_t value) { return value < 0 ? null() : integer(value); }

JsonText& JsonText::real(double value, int digits) {
  if (!std::isfinite(value)) return null();
  separate();
  fmt::format_to(std::back_inserter(out_), "{:.{}g}", value, digits);
  return *this;
}

JsonText& JsonText::seconds(double value) { return real(std::round(value * 1000) / 1000, 15); }

JsonText& JsonText::null() {
  separate();
  out_ += "null";
  return *this;
}

JsonText& JsonText::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace plimsoll::report
