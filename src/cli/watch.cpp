// plimsoll watch: options in, watch::watch_tree out.
#include "watch/watch.hpp"

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/serve_flags.hpp"

namespace plimsoll::cli {
namespace {

struct Text {
  std::string interval = "1s", duration, limit, until = "tree";
  bool no_steps = false;
  watch::WatchOptions options;
};

void run(Text& text) {
  watch::WatchOptions& options = text.options;
  int targets = !options.command.empty() + (options.pid != 0) + options.find_training;
  if (targets != 1)
    fail_input(
        "give exactly one of: a command after --, --pid P, --find-training; see `plimsoll watch --help`");
  if (options.pid < 0) fail_input("--pid {} is not a process; give a positive number", options.pid);
  options.interval = parse_duration(text.interval);
  if (options.interval < 0.01) fail_input("--interval {} is too short; give at least 10ms", text.interval);
  if (!text.duration.empty()) options.duration = parse_duration(text.duration);
  if (!text.duration.empty() && options.duration <= 0)
    fail_input("--for {} is no time at all; write it like 10m", text.duration);
  if (!text.limit.empty()) options.limit = parse_size(text.limit);
  options.until_command = text.until == "command";
  options.steps = !text.no_steps;
  exit_code = watch::watch_tree(options);
}

Command command(40, "watch", "watch a program's memory and say whether it leaks, where and how fast",
                "plimsoll watch --fail-on-leak --for 10m -- python train.py\n"
                "  plimsoll watch --pid 4711 --interval 5s --out run.db\n"
                "  plimsoll watch --find-training --json",
                [](CLI::App& app) {
                  auto text = std::make_shared<Text>();
                  watch::WatchOptions& options = text->options;
                  app.add_option("command", options.command, "program to launch and watch, after --");
                  app.add_option("--pid", options.pid, "watch this process and all that descends from it");
                  app.add_flag("--find-training", options.find_training,
                               "find the process that looks most like training and watch it");
                  app.add_option("--interval", text->interval, "time between samples (default 1s)");
                  app.add_option(
                      "--for", text->duration,
                      "stop after this long; a launched program is then ended (default: until it ends)");
                  app.add_option(
                         "--until", text->until,
                         "tree: as long as any descendant lives (default); command: until the command ends")
                      ->check(CLI::IsMember({"tree", "command"}));
                  app.add_option("--out", options.out, "record into this run file");
                  app.add_option("--limit", text->limit,
                                 "the line not to cross, like 8GB or 80% (default: the limit that applies)");
                  app.add_flag("--fail-on-leak", options.fail_on_leak, "exit with 10 if there is a leak");
                  app.add_option("--step-regex", options.step_regex,
                                 "how the program prints its step; the first group is the number");
                  app.add_flag("--no-steps", text->no_steps,
                               "no step socket, no reading along: output is inherited directly");
                  app.add_flag("--quiet", options.quiet, "no lines while watching, only the verdict");
                  app.add_flag("--all", options.all, "with --json: every process's own verdict too");
                  app.add_flag("--json", options.json, "one JSON object on standard output at the end");
                  add_serve_flags(app, options.serve);
                  app.callback([text] { run(*text); });
                });

}  // namespace
}  // namespace plimsoll::cli
