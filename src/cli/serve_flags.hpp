// The flags `--serve` and `--serve-token`, shared by all commands that run something.
#pragma once
#include "cli/options.hpp"
#include "live/access.hpp"

namespace plimsoll::cli {

void add_serve_flags(Options& flags, live::ServeOptions& options);
// The token alone: a flag, or PLIMSOLL_SERVE_TOKEN, which `ps` does not show.
void add_serve_token(Options& flags, live::ServeOptions& options);

}  // namespace plimsoll::cli
