// The options of a command: one table from which parsing, help, manual pages and completions are made.
//
//   options.value("--out", out, "record into this run file").wants("FILE");
//   options.flag("--json", as_json, "print one JSON object");
//   options.run([] { ... });
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

struct Option {
  enum class Takes { nothing, value, perhaps };  // perhaps: the next word, unless it is an option

  std::string name;         // "--out"; a positional has no dashes
  std::string letter = {};  // "-o"
  std::string help;
  Takes takes = Takes::value;
  std::string wanted = "TEXT";  // how the value is named in the help
  std::string group = {};       // heading in the help; empty: "Options"
  std::string environment = {};
  std::vector<std::string> choices = {};
  bool required = false;
  bool many = false;  // may be given more than once
  std::function<void(const std::string&)> set;

  bool is_positional() const { return !name.starts_with('-'); }
  std::string spoken() const;  // as help and messages name it: --out, or FILE for the positional "file"

  Option& wants(std::string text) { return wanted = std::move(text), *this; }
  Option& under(std::string heading) { return group = std::move(heading), *this; }
  Option& from(std::string variable) { return environment = std::move(variable), *this; }
  Option& abbreviated(std::string text) { return letter = std::move(text), *this; }
  Option& one_of(std::vector<std::string> words);
  Option& repeatable() { return many = true, *this; }
  Option& needed() { return required = true, *this; }
};

class Options {
 public:
  using Set = std::function<void(const std::string&)>;

  Option& flag(std::string name, bool& into, std::string help);
  Option& flag(std::string name, std::function<void()> act, std::string help);
  // An option with a value, or a positional when the name has no dashes.
  Option& value(std::string name, std::string& into, std::string help);
  Option& value(std::string name, int& into, std::string help);
  Option& value(std::string name, int64_t& into, std::string help);
  Option& value(std::string name, uint64_t& into, std::string help);
  Option& value(std::string name, double& into, std::string help);
  Option& value(std::string name, std::optional<int64_t>& into, std::string help);
  Option& value(std::string name, Set set, std::string help);
  // Gets an empty text when no value follows.
  Option& optional_value(std::string name, Set set, std::string help);
  // Any number of positionals.
  Option& words(std::string name, std::vector<std::string>& into, std::string help);
  // The program to run: every word after `--`, whatever it looks like.
  Option& program(std::vector<std::string>& into, std::string help);
  void run(std::function<void()> body) { body_ = std::move(body); }

  const std::deque<Option>& all() const { return all_; }
  const std::function<void()>& body() const { return body_; }
  bool runs_a_program() const { return runs_a_program_; }

 private:
  Option& add(Option option);

  std::deque<Option> all_;
  std::function<void()> body_;
  bool runs_a_program_ = false;
};

}  // namespace plimsoll::cli
