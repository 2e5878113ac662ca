// Arbitrary bytes as an HTTP request: the parser always returns, and every view it returns lies inside the
// request.
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "live/access.hpp"
#include "live/http_request.hpp"

using namespace plimsoll::live;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data),
                              size < longest_request ? size : longest_request);
  const auto [status, request] = parse_request(text);
  if (status != 0 && (status < 200 || status > 505)) __builtin_trap();
  for (std::string_view part :
       {request.method, request.path, request.query, request.host, request.authorization, request.cookie})
    if (!part.empty() && (part.data() < text.data() || part.data() + part.size() > text.data() + text.size()))
      __builtin_trap();
  if (status != 200) return 0;
  if (!request.path.starts_with('/')) __builtin_trap();
  for (std::string_view part : {request.path, request.query, request.host})
    for (const char c : part)
      if (c == '\n' || c == '\r' || c == 0) __builtin_trap();
  query_value(request.query, "token");
  cookie_value(request.cookie, "plimsoll-80");
  const Endpoint loopback{.address = "127.0.0.1", .port = 80, .loopback = true};
  if (host_is_ours(request.host, loopback, "box") && request.host.find("evil") != request.host.npos)
    __builtin_trap();
  return 0;
}
