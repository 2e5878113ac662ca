#include "cli/serve_flags.hpp"

namespace plimsoll::cli {

void add_serve_token(CLI::App& app, live::ServeOptions& options) {
  app.add_option("--serve-token", options.token,
                 "what readers must know; needed for other addresses than loopback")
      ->envname("PLIMSOLL_SERVE_TOKEN");
}

void add_serve_flags(CLI::App& app, live::ServeOptions& options) {
  app.add_option_function<std::vector<std::string>>(
         "--serve",
         [&options](const std::vector<std::string>& values) {
           options.wanted = true;
           options.address = values.empty() ? "" : values.front();
         },
         "a live page, /metrics and JSON on ADDR:PORT (default 127.0.0.1 and a free port)")
      ->expected(0, 1)
      ->type_name("[ADDR:PORT]");
  add_serve_token(app, options);
}

}  // namespace plimsoll::cli
