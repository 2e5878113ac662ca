// plimsoll guard: options in, watch::guard_tree out.
#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/serve_flags.hpp"
#include "cli/watch_flags.hpp"
#include "guard/policy_settings.hpp"
#include "watch/guarding.hpp"

namespace plimsoll::cli::guard_command {
namespace {

struct Text {
  std::string limit, grace = "10s", rate;
  guard::PolicySources sources;
  watch::GuardOptions options;
};

void run(Text& text) {
  watch::GuardOptions& options = text.options;
  if (options.command.empty() == (options.pid == 0))
    fail_input("give exactly one of: a command after --, --pid P; see `plimsoll guard --help`");
  if (options.profile.on && options.pid)
    fail_input(
        "--sites is for a program that the guard launches; leave out --pid and give the command after --");
  if (!text.rate.empty() && !options.profile.on)
    fail_input("--rate is for lines of the program; give --sites as well");
  if (!text.rate.empty()) options.profile.rate = parse_sampling_rate(text.rate);
  if (options.pid < 0) fail_input("--pid {} is not a process; give a positive number", options.pid);
  if (!text.limit.empty()) {
    if (text.sources.command_line.contains("max_memory"))
      fail_input("--limit and --max-memory are the same line; give only one of them");
    // Here, so that a bad one is not refused as --max-memory.
    const Size limit = parse_size(text.limit, "--limit");
    if (limit.bytes == 0 && limit.share == 0)
      fail_input("--limit {} leaves no memory at all; give more", text.limit);
    text.sources.command_line["max_memory"] = text.limit;
  }
  options.policy = guard::resolve_policy(text.sources);
  options.grace = parse_duration(text.grace, "--grace");
  exit_code = watch::guard_tree(options);
}

Command command(
    45, "guard", "act on a program before it runs out of memory: warn, shrink, pause, stop",
    "plimsoll guard -- python train.py\n"
    "  plimsoll guard --limit 8GB --grace 30s -- make -j8\n"
    "  plimsoll guard --pid 4711 --dry-run --json",
    [](Options& flags) {
      auto text = std::make_shared<Text>();
      watch::GuardOptions& options = text->options;
      flags.program(options.command, "program to launch and guard");
      flags.value("--pid", options.pid, "guard this process and all that descends from it");
      flags
          .value("--limit", text->limit,
                 "memory limit for the program, such as 8GB or 80% of the effective limit")
          .wants("SIZE");
      flags
          .value("--policy", text->sources.file,
                 "TOML file of the keys below; flags and environment override it")
          .wants("FILE");
      flags.value("--grace", text->grace, "time between SIGTERM and SIGKILL (default 10s)").wants("TIME");
      flags.value("--hook", options.hook, "shell command to run whenever the level changes").wants("CMD");
      flags.value("--out", options.out, "record into this run file").wants("FILE");
      add_serve_flags(flags, options.serve);
      flags.flag("--sites", options.profile.on, "say which line of the program grew: see `plimsoll profile`");
      flags.value("--rate", text->rate, "with --sites: mean bytes between two samples (default 512KiB)")
          .wants("SIZE");
      flags.flag("--dry-run", options.dry_run, "only report what would have been done");
      flags.flag("--json", options.json, "print one JSON object on standard output at the end");
      for (const guard::PolicyKey& key : guard::policy_keys()) {
        auto remember = [text, name = std::string(key.name)](const std::string& value) {
          text->sources.command_line[name] = value;
        };
        flags.value(key.flag(), remember, key.help).wants(key.wanted).under("Policy");
      }
      flags.run([text] { run(*text); });
    });

}  // namespace
}  // namespace plimsoll::cli::guard_command
