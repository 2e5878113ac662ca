// Access control: the address to listen on, the accepted Host headers, and the token.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::live {

// `--serve [ADDR:PORT] --serve-token TOKEN`.
struct ServeOptions {
  bool wanted = false;
  std::string address;  // empty: 127.0.0.1 and a free port; ADDR, PORT, ADDR:PORT, [V6]:PORT
  std::string token;    // needed for every address but loopback
};

struct Endpoint {
  std::string address;  // numeric
  uint16_t port = 0;    // 0: any free one
  bool loopback = true;
};

// InputError for what is no address, and for one that others can reach without a token.
Endpoint parse_endpoint(const ServeOptions& options);

struct Listening {
  int descriptor = -1;
  Endpoint endpoint;  // with the port it got
  std::string url;    // http://127.0.0.1:41234/
};
// InputError where the address cannot be had.
Listening listen_on(const Endpoint& endpoint);

// What a Host header may say. A page of another site that has its name resolved to our address (DNS rebinding) sends
// its own name, so on loopback only names of loopback are ours, elsewhere numeric addresses and the machine's name.
bool host_is_ours(std::string_view host, const Endpoint& endpoint, std::string_view machine_name);

// Takes the same time wherever the difference is.
bool same_token(std::string_view given, std::string_view expected);

}  // namespace plimsoll::live
