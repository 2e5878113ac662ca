// plimsoll profile: `watch` that also looks inside, or the sites of a recorded run in another form.
#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/command.hpp"
#include "cli/watch_flags.hpp"
#include "report/profile_exports.hpp"

namespace plimsoll::cli::profile_command {
namespace {

struct Exports {
  std::string pprof, collapsed, speedscope;
  bool any() const { return !pprof.empty() || !collapsed.empty() || !speedscope.empty(); }
};

void write_exports(const Exports& exports, const std::vector<std::string>& files) {
  if (files.size() != 1)
    fail_input(
        "--pprof, --collapsed and --speedscope need one run file, as in `plimsoll profile run.db --pprof "
        "out.pb.gz`");
  const auto stacks = report::recorded_stacks(files[0]);
  if (stacks.empty()) fail_input("{} holds no sites; record it with `plimsoll profile --out`", files[0]);
  if (!exports.pprof.empty()) write_atomically(exports.pprof, report::pprof(stacks));
  if (!exports.collapsed.empty()) write_atomically(exports.collapsed, report::collapsed(stacks));
  if (!exports.speedscope.empty())
    write_atomically(exports.speedscope,
                     report::speedscope(stacks, std::filesystem::path(files[0]).filename().string()));
}

Command command(
    42, "profile", "watch a program and say which lines of it hold the memory",
    "plimsoll profile -- python train.py\n"
    "  plimsoll profile --json --for 10m --out run.db -- ./server\n"
    "  plimsoll profile run.db --pprof out.pb.gz",
    [](Options& flags) {
      auto text = add_watch_flags(flags);
      auto exports = std::make_shared<Exports>();
      text->options.profile.on = true;
      flags.value("--pprof", exports->pprof, "write the sites of a run file for pprof").wants("FILE");
      flags.value("--collapsed", exports->collapsed, "write them as collapsed stacks").wants("FILE");
      flags.value("--speedscope", exports->speedscope, "write them for speedscope").wants("FILE");
      flags.run([text, exports] {
        if (exports->any())
          write_exports(*exports, text->options.command);
        else
          run_watch(*text);
      });
    });

}  // namespace
}  // namespace plimsoll::cli::profile_command
