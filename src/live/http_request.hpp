// Parses the head of an HTTP request strictly and without allocation. Malformed requests are refused with the
// appropriate status. All views point into the given text.
#pragma once
#include <cstddef>
#include <string_view>

namespace plimsoll::live {

inline constexpr size_t longest_request = 8192;  // bytes of the whole head
inline constexpr size_t longest_target = 2048;

struct HttpRequest {
  std::string_view method, path, query, host, authorization, cookie;
};

struct ParsedRequest {
  int status = 0;  // 0: more bytes are needed; 200: `request` is whole; else the status to refuse it with
  HttpRequest request;
};

// `text` is what has arrived so far, at most longest_request bytes of it.
ParsedRequest parse_request(std::string_view text);

// The value of `name` in a query, as it stands there; empty where there is none.
std::string_view query_value(std::string_view query, std::string_view name);
// The same in a Cookie header.
std::string_view cookie_value(std::string_view cookie, std::string_view name);

}  // namespace plimsoll::live
