// `plimsoll man`: manual pages, from the table of the help.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/help.hpp"

namespace plimsoll::cli::man_command {
namespace {

std::string name;

// Text as roff reads it: dashes stay dashes, and no line becomes a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\')
      out += c == '-' ? "\\-" : "\\e";
    else
      out += c;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string capital(std::string text) {
  for (char& c : text) c = char(std::toupper((unsigned char)c));
  return text;
}

std::string head(const std::string& page, const std::string& summary) {
  return fmt::format(".TH {} 1 \"\" \"plimsoll {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                     capital(roff(page)), PLIMSOLL_VERSION, roff(page), roff(summary));
}

std::string entry(const std::string& title, const std::string& text) {
  return ".TP\n.B " + roff(title) + "\n" + roff(text) + "\n";
}

std::string exit_status() {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitCode& one : exit_codes()) out += entry(std::to_string(one.code), one.meaning);
  return out;
}

std::string environment() {
  return ".SH ENVIRONMENT\n" +
         entry("PLIMSOLL_NAME",
               "Every setting of a run, in capitals (for example PLIMSOLL_THREADS). The command line wins "
               "over the "
               "environment, the environment over a TOML file, the file over the preset.") +
         entry("PLIMSOLL_SERVE_TOKEN", "What readers of a served run must know, like --serve-token.") +
         entry("NO_COLOR", "Switches colour off.");
}

std::string command_page(const Command& command) {
  const Options options = command.options();
  std::string out = head("plimsoll-" + command.name, command.summary);
  out += ".SH SYNOPSIS\n.B " + roff(synopsis(command, options)) + "\n";
  for (const std::string& heading : headings(options)) {
    out += ".SH \"" + capital(heading) + "\"\n";
    for (const Option& option : options.all())
      if (heading_of(option) == heading)
        out += entry(usage_of(option), option.environment.empty()
                                           ? option.help
                                           : option.help + " (or " + option.environment + ")");
    if (heading == "Options") out += entry("-h, --help", "print the help and exit");
  }
  out += exit_status() + environment() + ".SH EXAMPLES\n.nf\n";
  std::string example = command.example;
  for (size_t at; (at = example.find("\n  ")) != example.npos;) example.erase(at + 1, 2);
  return out + roff(example) + "\n.fi\n.SH SEE ALSO\n.BR plimsoll (1)\n";
}

std::string program_page() {
  std::string out = head("plimsoll", program_summary);
  out +=
      ".SH SYNOPSIS\n.B plimsoll\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n"
      "Plimsoll trains models on the processor. A training step is recorded once, its memory is planned to "
      "the byte\n"
      "before the first step, and the step is replayed without allocating anything. It also watches the "
      "memory of\n"
      "other programs, says whether they leak, and can act before they run out of memory.\n.SH COMMANDS\n";
  for (const Command* command : commands()) out += entry(command->name, command->summary);
  out +=
      ".SH OUTPUT\nWith\n.B \\-\\-json\na command prints exactly one JSON object on standard output as its "
      "last\n"
      "output; text for people goes to standard error.\n" +
      exit_status() + environment() + ".SH SEE ALSO\n";
  const auto& all = commands();
  for (const Command* command : all)
    out += ".BR plimsoll\\-" + command->name + " (1)" + (command == all.back() ? "\n" : " ,\n");
  return out;
}

void run() { fmt::print("{}", name.empty() ? program_page() : command_page(find_command(name))); }

Command command(92, "man", "print a manual page: of the program, or of a command",
                "plimsoll man train | man -l -", [](Options& options) {
                  options.value("command", name, "the command; without it the page of the program");
                  options.run(run);
                });

}  // namespace
}  // namespace plimsoll::cli::man_command
