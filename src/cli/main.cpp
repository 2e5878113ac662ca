// The program: finds the subcommand, turns every error into one line and a documented exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "base/mask.hpp"
#include "base/nearest.hpp"
#include "cli/command.hpp"

namespace plimsoll::cli {

int exit_code = 0;

namespace {
constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0    done\n"
    "  1    failed\n"
    "  2    wrong usage or bad input: one line says what, and what to do\n"
    "  10   leak found, where asked to fail on it\n"
    "  11   stopped by the guard, checkpoint saved\n"
    "  130  interrupted, state saved";

struct Registered {
  int rank;
  std::string name, summary, example;
  std::function<void(CLI::App&)> setup;
};
std::vector<Registered>& registry() {
  static std::vector<Registered> commands;
  return commands;
}
}  // namespace

Command::Command(int rank, const char* name, const char* summary, const char* example,
                 std::function<void(CLI::App&)> setup) {
  registry().push_back({rank, name, summary, example, std::move(setup)});
}

namespace {

// Prints one line and gives the code of wrong usage.
int refuse(const std::string& message) {
  fmt::print(stderr, "plimsoll: {}\n", escape(message));
  return int(Exit::usage);
}

std::string known_commands() {
  std::string names;
  for (auto& command : registry()) names += (names.empty() ? "" : ", ") + command.name;
  return names;
}

// What a parse error means in one line, with the nearest flag for one nobody knows.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  std::string command = at == &app ? "plimsoll" : "plimsoll " + at->get_name();
  std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    return fmt::format("{} {}; see `{} --help`", what.substr(0, what.find(':')),
                       what.find("received") == what.npos ? "needs a value" : "is given more than once",
                       command);
  std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return fmt::format("{}; see `{} --help`", what, command);
  auto flag = std::find_if(extras.begin(), extras.end(), [](auto& text) { return text.starts_with("-"); });
  if (flag == extras.end()) return fmt::format("unexpected '{}'; see `{} --help`", extras.front(), command);
  std::vector<std::string> known;
  for (const CLI::Option* option : at->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  std::string name = flag->substr(0, flag->find('='));
  return fmt::format("unknown option '{}'; did you mean '{}'? See `{} --help`", name, nearest(name, known),
                     command);
}

}  // namespace

static int run(int argc, char** argv) {
  CLI::App app{"plimsoll: training runs whose memory is known, flat and explained", "plimsoll"};
  app.set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION);
  app.require_subcommand(1);
  app.footer(std::string(exit_codes) +
             "\n\n`plimsoll COMMAND --help` shows a command's options and an example.");
  std::sort(registry().begin(), registry().end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  for (auto& command : registry()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer("Example:\n  " + command.example + "\n\n" + exit_codes);
    sub->get_formatter()->column_width(36);
    command.setup(*sub);
  }
  if (argc < 2) return refuse("no command given; the commands are " + known_commands());
  auto& commands = registry();
  auto is_named = [&](const Registered& command) { return command.name == argv[1]; };
  if (argv[1][0] != '-' && std::none_of(commands.begin(), commands.end(), is_named))
    return refuse(fmt::format("unknown command '{}'; the commands are {}", argv[1], known_commands()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return refuse(explain(app, e));
  }
  return exit_code;
}

}  // namespace plimsoll::cli

int main(int argc, char** argv) {
  try {
    return plimsoll::cli::run(argc, argv);
  } catch (const plimsoll::Error& e) {
    fmt::print(stderr, "plimsoll: {}\n", plimsoll::escape(e.what()));
    return int(e.code);
  } catch (const std::exception& e) {
    fmt::print(stderr, "plimsoll: unexpected: {}\n", plimsoll::escape(e.what()));
    return int(plimsoll::Exit::failed);
  }
}
