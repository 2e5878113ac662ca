// plimsoll profile: `watch` that also looks inside, or the sites of a recorded run in another form.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/watch_flags.hpp"
#include "diagnose/recorded_run.hpp"
#include "heap/collector.hpp"
#include "heap/waker.hpp"
#include "platform/child.hpp"
#include "report/profile_exports.hpp"
#include "watch/census.hpp"

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
  for (const std::string& out : {exports.pprof, exports.collapsed, exports.speedscope})
    refuse_to_replace(files[0], out);
  const auto stacks = report::recorded_stacks(files[0]);
  if (stacks.empty()) fail_input("{} holds no sites; record it with `plimsoll profile --out`", files[0]);
  if (!exports.pprof.empty()) write_atomically(exports.pprof, report::pprof(stacks));
  if (!exports.collapsed.empty()) write_atomically(exports.collapsed, report::collapsed(stacks));
  if (!exports.speedscope.empty())
    write_atomically(exports.speedscope,
                     report::speedscope(stacks, std::filesystem::path(files[0]).filename().string()));
}

void refuse_run_file(const std::vector<std::string>& command) {
  if (command.size() == 1 && diagnose::is_run_file(command[0]))
    fail_input(
        "{} is a run file, not a program; write its sites with --pprof, --collapsed or --speedscope FILE, or "
        "show them with `plimsoll report {}`",
        command[0], command[0]);
}

// Runs the program as it is, with a library that sleeps until `profile --pid` wakes it.
void run_dormant(const std::vector<std::string>& command) {
  if (command.empty()) fail_input("--dormant needs a command after --");
  heap::remove_stale_pages();
  platform::become(command, heap::dormant_environment());
}

struct Census {
  bool on = false;
  std::string budget;
};

void print_census(const Census& census, const WatchText& text) {
  watch::CensusOptions options{
      .pid = text.options.pid, .json = text.options.json, .roots = text.options.roots};
  if (options.pid <= 0) fail_input("--census needs --pid P, the process to ask");
  options.budget = parse_duration(census.budget.empty() ? "50ms" : census.budget, "--budget");
  if (!text.duration.empty()) options.patience = parse_duration(text.duration, "--for");
  const std::string answer = watch::ask_census(options);
  std::fputs(answer.c_str(), stdout);
}

Command command(
    42, "profile", "watch a program and say which lines of it hold the memory",
    "plimsoll profile -- python train.py\n"
    "  plimsoll profile --json --for 10m --out run.db -- ./server\n"
    "  plimsoll profile --pid 4711 --for 2m\n"
    "  plimsoll profile --pid 4711 --census\n"
    "  plimsoll profile run.db --pprof out.pb.gz",
    [](Options& flags) {
      auto text = add_watch_flags(flags);
      auto exports = std::make_shared<Exports>();
      text->options.profile.on = true;
      flags.value("--pprof", exports->pprof, "write the sites of a run file for pprof").wants("FILE");
      flags.value("--collapsed", exports->collapsed, "write them as collapsed stacks").wants("FILE");
      flags.value("--speedscope", exports->speedscope, "write them for speedscope").wants("FILE");
      auto census = std::make_shared<Census>();
      flags.flag("--census", census->on,
                 "with --pid: ask a Python program that uses the package what lives in it");
      flags.value("--budget", census->budget, "with --census: time it may take (default 50ms)").wants("TIME");
      auto dormant = std::make_shared<bool>(false);
      flags.flag("--dormant", *dormant,
                 "run the program with a library that samples nothing until `profile --pid` wakes it");
      flags.run([text, exports, census, dormant] {
        if (!census->on && !census->budget.empty())
          fail_input("--budget is the time a census may take; give --census as well");
        if (*dormant)
          run_dormant(text->options.command);
        else if (census->on)
          print_census(*census, *text);
        else if (exports->any())
          write_exports(*exports, text->options.command);
        else {
          refuse_run_file(text->options.command);
          run_watch(*text);
        }
      });
    });

}  // namespace
}  // namespace plimsoll::cli::profile_command
