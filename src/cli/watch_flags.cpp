#include "cli/watch_flags.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/serve_flags.hpp"
#include "ranks/launch.hpp"

namespace plimsoll::cli {

std::shared_ptr<WatchText> add_watch_flags(Options& flags) {
  auto text = std::make_shared<WatchText>();
  watch::WatchOptions& options = text->options;
  flags.program(options.command, "program to launch and watch");
  flags.value("--pid", options.pid, "watch this process and its descendants");
  flags.flag("--find-training", options.find_training,
             "find the process that looks most like training and watch it");
  flags.value("--interval", text->interval, "time between samples (default 1s)").wants("TIME");
  flags
      .value("--for", text->duration,
             "stop after this long; a launched program is then ended (default: until it ends)")
      .wants("TIME");
  flags
      .value("--until", text->until,
             "tree: as long as any descendant lives (default); command: until the command ends")
      .one_of({"tree", "command"});
  flags.value("--socket", options.socket, "with --pid: make the socket for the program's steps at this path")
      .wants("PATH");
  flags
      .value("--out", options.out,
             "record into this run file; under mpirun, srun or torchrun, FILE-rankN for each rank")
      .wants("FILE");
  flags.value("--limit", text->limit, "memory limit, such as 8GB or 80% (default: the effective limit)")
      .wants("SIZE");
  flags.flag("--fail-on-leak", options.fail_on_leak, "exit with 10 if there is a leak");
  flags
      .value("--step-regex", options.step_regex,
             "regular expression that finds the step in the output; its first group is the number")
      .wants("REGEX");
  flags.flag("--no-steps", text->no_steps,
             "no step socket and no reading of the output, which is inherited directly");
  flags.flag("--quiet", options.quiet, "print only the verdict, nothing while watching");
  flags.flag("--all", options.all, "with --json: add the verdict of every process");
  flags.flag("--json", options.json, "print one JSON object on standard output at the end");
  add_serve_flags(flags, options.serve);
  flags.value("--rate", text->rate, "with sites: mean bytes between two samples (default 512KiB)")
      .wants("SIZE");
  return text;
}

uint64_t parse_sampling_rate(const std::string& text) {
  const uint64_t rate = parse_bytes(text, "--rate");
  if (rate < 1024) fail_input("--rate {} is too fine; give at least 1KiB", text);
  return rate;
}

void run_watch(WatchText& text) {
  watch::WatchOptions& options = text.options;
  int targets = !options.command.empty() + (options.pid != 0) + options.find_training;
  if (targets != 1)
    fail_input("give exactly one of: a command after --, --pid P, --find-training; see `plimsoll {} --help`",
               options.profile.on ? "profile" : "watch");
  if (options.pid < 0) fail_input("--pid {} is not a process; give a positive number", options.pid);
  options.interval = parse_duration(text.interval, "--interval");
  if (options.interval < 0.01) fail_input("--interval {} is too short; give at least 10ms", text.interval);
  if (!text.duration.empty()) options.duration = parse_duration(text.duration, "--for");
  if (!text.duration.empty() && options.duration <= 0)
    fail_input("--for {} is no time at all; write it like 10m", text.duration);
  if (!text.limit.empty()) options.limit = parse_size(text.limit, "--limit");
  if (options.limit && options.limit->bytes == 0 && options.limit->share == 0)
    fail_input("--limit {} leaves no memory at all; give more", text.limit);
  if (options.all && !options.json && options.out.empty())
    fail_input("--all adds to the JSON; give --json or --out as well");
  if (!text.rate.empty() && !options.profile.on)
    fail_input("--rate is for lines of the program; give --sites as well");
  if (!options.socket.empty() && !options.command.empty())
    fail_input("--socket is for --pid: a launched program finds its socket in PLIMSOLL_SOCKET");
  options.until_command = text.until == "command";
  options.steps = !text.no_steps;
  options.out = ranks::file_of_rank(options.out, ranks::read_launch());
  if (!text.rate.empty()) options.profile.rate = parse_sampling_rate(text.rate);
  exit_code = watch::watch_tree(options);
}

}  // namespace plimsoll::cli
