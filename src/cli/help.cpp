#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace plimsoll::cli {
namespace {

constexpr size_t column = 36, width = 110;  // where explanations begin, where lines end

// One entry: a name, and its explanation beside it or, where the name is long, below it.
std::string entry(const std::string& name, std::string_view text) {
  std::string out = "  " + name;
  if (out.size() + 2 > column)
    out += "\n", out += std::string(column, ' ');
  else
    out.resize(column, ' ');
  size_t used = column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (used > column && used + word.size() > width) {
      while (out.ends_with(' ')) out.pop_back();
      out += "\n" + std::string(column, ' ');
      used = column;
    }
    out.append(word) += ' ';
    used += word.size() + 1;
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + "\n";
}

std::string exit_code_list() {
  std::string out = "Exit codes:\n";
  for (const ExitCode& one : exit_codes()) out += fmt::format("  {:<5}{}\n", one.code, one.meaning);
  return out;
}

}  // namespace

std::string heading_of(const Option& option) {
  return option.is_positional() ? "Arguments" : option.group.empty() ? "Options" : option.group;
}

std::vector<std::string> headings(const Options& options) {
  std::vector<std::string> found = {"Options"};
  for (const Option& option : options.all())
    if (option.is_positional()) found.insert(found.begin(), "Arguments");
  for (const Option& option : options.all())
    if (std::find(found.begin(), found.end(), heading_of(option)) == found.end())
      found.push_back(heading_of(option));
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string usage_of(const Option& option) {
  if (option.is_positional()) return option.spoken();
  std::string text = option.letter.empty() ? option.name : option.letter + ", " + option.name;
  if (option.takes == Option::Takes::value) text += " " + option.wanted;
  if (option.takes == Option::Takes::perhaps) text += " [" + option.wanted + "]";
  return text;
}

std::string synopsis(const Command& command, const Options& options) {
  std::string text = "plimsoll " + command.name + " [OPTIONS]";
  for (const Option& option : options.all()) {
    if (!option.is_positional()) continue;
    const std::string name = option.spoken() + (option.many ? "..." : "");
    const bool tail = options.runs_a_program();
    text += tail ? " [-- " + name + "]" : option.required ? " " + name : " [" + name + "]";
  }
  return text;
}

std::string program_help() {
  std::string out =
      fmt::format("plimsoll: {}\n\nUsage: plimsoll COMMAND [OPTIONS]\n\nCommands:\n", program_summary);
  for (const Command* command : commands()) out += entry(command->name, command->summary);
  out += "\nOptions:\n" + entry("-h, --help", "print this help and exit") +
         entry("--version", "print the version and exit") + "\n" + exit_code_list();
  return out + "\n`plimsoll COMMAND --help` shows a command's options and an example.\n";
}

std::string command_help(const Command& command) {
  const Options options = command.options();
  std::string out = fmt::format("{}\n\nUsage: {}\n", command.summary, synopsis(command, options));
  for (const std::string& heading : headings(options)) {
    out += "\n" + heading + ":\n";
    for (const Option& option : options.all())
      if (heading_of(option) == heading)
        out += entry(usage_of(option), option.environment.empty()
                                           ? option.help
                                           : option.help + " (or " + option.environment + ")");
    if (heading == "Options") out += entry("-h, --help", "print this help and exit");
  }
  return out + "\nExample:\n  " + command.example + "\n\n" + exit_code_list();
}

}  // namespace plimsoll::cli
