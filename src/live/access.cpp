#include "live/access.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "platform/sockets.hpp"

namespace plimsoll::live {
namespace {

uint16_t parse_port(std::string_view text, const std::string& whole) {
  const auto port = text::number<uint16_t>(text);
  if (!port) fail_input("--serve {}: '{}' is not a port; write it like 127.0.0.1:8080", whole, text);
  return *port;
}

// Longer than anyone guesses, and made of characters that need no escaping in an address.
void check_token(const std::string& token) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
  };
  if (token.size() < 12 || token.size() > 256 || !std::all_of(token.begin(), token.end(), plain))
    fail_input(
        "--serve-token needs 12 to 256 letters, digits or -._~; `openssl rand -hex 16` makes a good one");
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char one, char other) { return lower(one) == lower(other); });
}

}  // namespace

Endpoint parse_endpoint(const ServeOptions& options) {
  const std::string& text = options.address;
  Endpoint endpoint{.address = "127.0.0.1"};
  std::string_view address = text, port;
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (number) {
    address = {}, port = text;
  } else if (text.starts_with('[')) {
    const size_t close = std::min(text.find(']'), text.size());
    address = std::string_view(text).substr(1, close - 1);
    std::string_view rest = std::string_view(text).substr(std::min(close + 1, text.size()));
    if (rest.starts_with(':')) port = rest.substr(1);
    if (close == text.size() || !platform::is_ipv6(address) || (!rest.empty() && !rest.starts_with(':')))
      fail_input("--serve {} is not an address; write it like [::1]:8080", text);
  } else if (!platform::is_ipv6(text) && text.find(':') != std::string::npos) {
    const size_t colon = text.rfind(':');
    address = std::string_view(text).substr(0, colon), port = std::string_view(text).substr(colon + 1);
    if (port.empty()) fail_input("--serve {}: no port after the colon; write it like 127.0.0.1:8080", text);
  }
  if (address == "localhost") address = "127.0.0.1";
  if (!address.empty()) endpoint.address = address;
  if (!platform::is_ipv4(endpoint.address) && !platform::is_ipv6(endpoint.address))
    fail_input("--serve {} is not a numeric address; write it like 127.0.0.1:8080 or 0.0.0.0:8080", text);
  if (!port.empty()) endpoint.port = parse_port(port, text);
  endpoint.loopback = platform::is_loopback(endpoint.address);
  if (!options.token.empty()) check_token(options.token);
  if (!endpoint.loopback && options.token.empty())
    fail_input("--serve {} can be reached by others: give --serve-token TOKEN too, or serve on 127.0.0.1",
               text);
  return endpoint;
}

Listening listen_on(const Endpoint& endpoint) {
  Listening listening;
  listening.endpoint = endpoint;
  const platform::ListeningSocket socket = platform::listen_on(endpoint.address, endpoint.port);
  if (socket.error)
    fail_input("cannot serve on {}:{} ({}); leave the port out to get a free one", endpoint.address,
               endpoint.port, error_text(socket.error));
  listening.descriptor = socket.descriptor;
  listening.endpoint.port = socket.port;
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  listening.url = v6 ? fmt::format("http://[{}]:{}/", endpoint.address, listening.endpoint.port)
                     : fmt::format("http://{}:{}/", endpoint.address, listening.endpoint.port);
  return listening;
}

bool host_is_ours(std::string_view host, const Endpoint& endpoint, std::string_view machine_name) {
  // The port does not matter: it differs behind a tunnel, and a foreign page cannot lie about its name.
  std::string_view name = host, port;
  if (host.starts_with('[')) {
    const size_t close = host.find(']');
    if (close == host.npos) return false;
    name = host.substr(1, close - 1), port = host.substr(close + 1);
  } else if (const size_t colon = host.rfind(':'); colon != host.npos) {
    name = host.substr(0, colon), port = host.substr(colon);
  }
  if (!port.empty() && (port[0] != ':' || port.find_first_not_of("0123456789", 1) != port.npos)) return false;
  if (name.size() > 255) return false;
  const bool numeric = platform::is_ipv4(name) || platform::is_ipv6(name);
  if (equal_ignoring_case(name, "localhost") || (numeric && platform::is_loopback(name))) return true;
  if (endpoint.loopback) return false;
  return numeric || (!machine_name.empty() && equal_ignoring_case(name, machine_name));
}

bool same_token(std::string_view given, std::string_view expected) {
  size_t difference = given.size() ^ expected.size();
  for (size_t i = 0; i < expected.size(); ++i)
    difference |= static_cast<unsigned char>(expected[i]) ^
                  static_cast<unsigned char>(given.empty() ? 0 : given[i % given.size()]);
  return difference == 0;
}

}  // namespace plimsoll::live
