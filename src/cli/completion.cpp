// `plimsoll completion`: what bash, zsh or fish need to complete commands and options, from the table of the help.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "cli/command.hpp"

namespace plimsoll::cli::completion_command {
namespace {

std::string shell;

bool is_path(const Option& option) {
  for (const char* word : {"FILE", "PATH", "DIR", "FOLDER", "RUN"})
    if (option.wanted.find(word) != option.wanted.npos) return true;
  return option.is_positional();
}

// What may follow the option, as in "on off"; empty where it is free.
std::string words_of(const Option& option) {
  if (option.wanted.find('|') == option.wanted.npos || is_path(option)) return {};
  std::string words = option.wanted;
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

// The text inside single quotes of a shell.
std::string in_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out;
}

std::string command_names() {
  std::string names;
  for (const Command* command : commands()) names += (names.empty() ? "" : " ") + command->name;
  return names;
}

std::string bash() {
  std::string out = fmt::format(
      "# bash completion for plimsoll; made by `plimsoll completion bash`\n"
      "_plimsoll() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} "
      "command=${{COMP_WORDS[1]}} i\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "    if [ \"${{COMP_WORDS[i]}}\" = -- ]; then\n"
      "      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); "
      "else COMPREPLY=($(compgen -c -f -- \"$word\")); fi\n"
      "      return\n"
      "    fi\n"
      "  done\n"
      "  local options=\n"
      "  case $command in\n",
      command_names());
  for (const Command* command : commands()) {
    const Options options = command->options();
    out += fmt::format("  {})\n    options='--help", command->name);
    for (const Option& option : options.all())
      if (!option.is_positional()) out += " " + option.name;
    out += "'\n    case $before in\n";
    for (const Option& option : options.all()) {
      if (option.is_positional() || option.takes != Option::Takes::value) continue;
      const std::string names = option.letter.empty() ? option.name : option.letter + "|" + option.name;
      const std::string words = words_of(option);
      const std::string reply = !words.empty()    ? "-W '" + in_quotes(words) + "'"
                                : is_path(option) ? "-f"
                                                  : "";
      out += reply.empty()
                 ? fmt::format("    {}) return ;;\n", names)
                 : fmt::format("    {}) COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n", names, reply);
    }
    out += "    esac ;;\n";
  }
  return out +
         "  esac\n"
         "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); "
         "else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
         "}\n"
         "complete -o filenames -F _plimsoll plimsoll\n";
}

// A description inside an _arguments specification: brackets and colons have a meaning there.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return in_quotes(out);
}

std::string zsh_option(const Option& option) {
  std::string out = fmt::format("'{}[{}]", option.name, zsh_text(option.help));
  if (option.takes != Option::Takes::nothing) {
    out += option.takes == Option::Takes::perhaps ? "::" : ":";
    out += zsh_text(option.wanted) + ":";
    const std::string words = words_of(option);
    out += !words.empty() ? "(" + zsh_text(words) + ")" : is_path(option) ? "_files" : "";
  }
  return out + "'";
}

std::string zsh() {
  std::string out =
      "#compdef plimsoll\n# zsh completion for plimsoll; made by `plimsoll completion zsh`\n"
      "_plimsoll() {\n  local -a commands\n  commands=(\n";
  for (const Command* command : commands())
    out += fmt::format("    '{}:{}'\n", command->name, zsh_text(command->summary));
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const Command* command : commands()) {
    const Options options = command->options();
    out += fmt::format("  {})\n    _arguments -S '--help[print this help and exit]'", command->name);
    for (const Option& option : options.all())
      if (!option.is_positional()) out += " \\\n      " + zsh_option(option);
    out += options.runs_a_program() ? " \\\n      '*::program:_normal'" : " \\\n      '*:file:_files'";
    out += " ;;\n";
  }
  return out + "  esac\n}\n_plimsoll \"$@\"\n";
}

std::string fish_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish() {
  std::string out =
      "# fish completion for plimsoll; made by `plimsoll completion fish`\n"
      "complete -c plimsoll -n __fish_use_subcommand -f -l help -d 'print help and exit'\n"
      "complete -c plimsoll -n __fish_use_subcommand -f -l version -d 'print the version and exit'\n";
  for (const Command* command : commands())
    out += fmt::format("complete -c plimsoll -n __fish_use_subcommand -f -a {} -d '{}'\n", command->name,
                       fish_text(command->summary));
  for (const Command* command : commands()) {
    const Options options = command->options();
    for (const Option& option : options.all()) {
      if (option.is_positional()) continue;
      out += fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}' -l {}", command->name,
                         option.name.substr(2));
      if (!option.letter.empty()) out += " -s " + option.letter.substr(1);
      const std::string words = words_of(option);
      if (!words.empty())
        out += " -x -a '" + fish_text(words) + "'";
      else if (option.takes == Option::Takes::value)
        out += is_path(option) ? " -r -F" : " -x";
      out += fmt::format(" -d '{}'\n", fish_text(option.help));
    }
  }
  return out;
}

void run() { fmt::print("{}", shell == "bash" ? bash() : shell == "zsh" ? zsh() : fish()); }

Command command(91, "completion", "print the completions of bash, zsh or fish",
                "plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll",
                [](Options& options) {
                  options.value("shell", shell, "bash, zsh or fish").one_of({"bash", "zsh", "fish"}).needed();
                  options.run(run);
                });

}  // namespace
}  // namespace plimsoll::cli::completion_command
