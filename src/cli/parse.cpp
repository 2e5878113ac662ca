#include "cli/parse.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/known_names.hpp"

namespace plimsoll::cli {
namespace {

std::string dashes(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

class Reading {
 public:
  Reading(const Options& options, std::span<const std::string> words, const std::string& command)
      : options_(options), command_(command) {
    // Everything after `--` is taken away before any option could swallow it.
    const auto tail = std::find(words.begin(), words.end(), "--");
    words_ = words.first(size_t(tail - words.begin()));
    if (tail != words.end()) tail_ = words.subspan(size_t(tail - words.begin()) + 1);
    for (const Option& option : options.all())
      if (option.is_positional()) positionals_.push_back(&option);
  }

  bool read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--help" || word == "-h") return true;
      if (word.size() > 1 && word.starts_with('-'))
        take_option(word);
      else
        take_positional(word);
    }
    if (options_.runs_a_program() && !tail_.empty() && given_.contains(positionals_.back()))
      refuse("'{}' stands before `--`; put the whole program after it", first_positional_);
    for (const std::string& word : tail_) take_positional(word);
    for (const Option& option : options_.all()) finish(option);
    return false;
  }

 private:
  template <class... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    fail_input("{}; see `{} --help`", fmt::format(text, std::forward<Arguments>(arguments)...), command_);
  }

  const Option* find(const std::string& name) const {
    for (const Option& option : options_.all())
      if (!option.is_positional() && !name.empty() && (option.name == name || option.letter == name))
        return &option;
    return nullptr;
  }

  // Underscores read as dashes; names that people know from other trainers stand for ours.
  const Option* find_spelled(const std::string& name) const {
    if (const Option* option = find(name)) return option;
    const std::string dashed = dashes(name);
    const Option* option = find(dashed);
    return option ? option : find(counterpart(dashed));
  }

  [[noreturn]] void refuse_unknown(const std::string& name) const {
    const std::string dashed = dashes(name);
    if (const std::string advice = advice_on(dashed); !advice.empty())
      refuse("unknown option '{}'; {}", name, advice);
    std::vector<std::string> known = {"--help"};
    for (const Option& option : options_.all())
      if (!option.is_positional()) known.push_back(option.name);
    std::string likely = likely_meant(dashed, known);
    if (likely.empty()) likely = likely_meant(dashed, foreign_names(known));
    if (!likely.empty())
      fail_input("unknown option '{}'; did you mean '{}'? See `{} --help`", name, likely, command_);
    if (options_.runs_a_program())
      refuse("unknown option '{}'; options of the program itself go after `--`", name);
    refuse("unknown option '{}'", name);
  }

  // An empty path is a variable of the shell that was not set: without it another file would be used.
  void set(const Option& option, const std::string& value) const {
    for (const char* path : {"PATH", "FILE", "FOLDER", "DIR"})
      if (value.empty() && option.wanted == path)
        refuse("{} is empty; give a {}", option.name, option.wanted);
    option.set(value);
  }

  void take_option(const std::string& word) {
    const size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
    const std::string name = word.substr(0, equals);
    const Option* option = find_spelled(name);
    if (!option) refuse_unknown(name);
    if (given_[option]++ && !option->many) refuse("{} is given more than once", option->name);
    if (equals != word.npos) {
      if (option->takes == Option::Takes::nothing) refuse("{} takes no value", option->name);
      set(*option, word.substr(equals + 1));
    } else if (option->takes == Option::Takes::nothing) {
      option->set("");
    } else if (option->takes == Option::Takes::perhaps) {
      const bool follows = at_ < words_.size() && !words_[at_].starts_with('-');
      option->set(follows ? words_[at_++] : "");
    } else {
      // A value may begin with a dash, but a name of ours was hardly meant as one.
      if (at_ == words_.size() || find(words_[at_]))
        refuse("{} needs a value, {}", option->name, option->wanted);
      set(*option, words_[at_++]);
    }
  }

  void take_positional(const std::string& word) {
    if (next_positional_ == positionals_.size()) refuse("unexpected '{}'", word);
    if (first_positional_.empty()) first_positional_ = word;
    const Option* option = positionals_[next_positional_];
    if (!option->many) ++next_positional_;
    ++given_[option];
    option->set(word);
  }

  void finish(const Option& option) {
    if (given_.contains(&option)) return;
    if (!option.environment.empty())
      if (const char* value = std::getenv(option.environment.c_str())) option.set(value);
    if (option.required) refuse("{} is missing: {}", option.spoken(), option.help);
  }

  const Options& options_;
  const std::string& command_;
  std::span<const std::string> words_, tail_;
  std::vector<const Option*> positionals_;
  std::map<const Option*, int> given_;
  size_t at_ = 0, next_positional_ = 0;
  std::string first_positional_;
};

}  // namespace

bool parse(const Options& options, std::span<const std::string> words, const std::string& command) {
  return Reading(options, words, command).read();
}

}  // namespace plimsoll::cli
