#include "cli/serve_flags.hpp"

namespace plimsoll::cli {

void add_serve_token(Options& flags, live::ServeOptions& options) {
  flags
      .value("--serve-token", options.token,
             "what readers must know; needed for other addresses than loopback")
      .from("PLIMSOLL_SERVE_TOKEN");
}

void add_serve_flags(Options& flags, live::ServeOptions& options) {
  auto serve = [&options](const std::string& address) {
    options.wanted = true;
    options.address = address;
  };
  flags
      .optional_value(
          "--serve", serve,
          "serve a live page, /metrics and JSON on ADDR:PORT (default: 127.0.0.1 and a free port)")
      .wants("ADDR:PORT");
  add_serve_token(flags, options);
}

}  // namespace plimsoll::cli
