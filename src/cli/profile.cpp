// plimsoll profile: `watch` that also looks inside, or the profile of a recorded run in another form.
#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/watch_flags.hpp"

namespace plimsoll::cli::profile_command {
namespace {

Command command(42, "profile", "watch a program and say which lines of it hold the memory",
                "plimsoll profile -- python train.py\n"
                "  plimsoll profile --json --for 10m -- ./server",
                [](Options& flags) {
                  auto text = add_watch_flags(flags);
                  text->options.profile.on = true;
                  flags.run([text] { run_watch(*text); });
                });

}  // namespace
}  // namespace plimsoll::cli::profile_command
