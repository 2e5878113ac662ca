// plimsoll watch: options in, watch::watch_tree out.
#include "cli/command.hpp"
#include "cli/watch_flags.hpp"

namespace plimsoll::cli::watch_command {
namespace {

Command command(40, "watch", "watch a program's memory and report whether it leaks, where and how fast",
                "plimsoll watch --fail-on-leak --for 10m -- python train.py\n"
                "  plimsoll watch --pid 4711 --interval 5s --out run.db\n"
                "  plimsoll watch --find-training --json",
                [](Options& flags) {
                  auto text = add_watch_flags(flags);
                  flags.flag("--sites", text->options.profile.on,
                             "also say which lines of the program hold the memory: see `plimsoll profile`");
                  flags.run([text] { run_watch(*text); });
                });

}  // namespace
}  // namespace plimsoll::cli::watch_command
