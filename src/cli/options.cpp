#include "cli/options.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace plimsoll::cli {
namespace {

template <class Number>
Options::Set number_into(Number& into, std::string name) {
  return [&into, name = std::move(name)](const std::string& text) {
    Number read{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, read);
    if (error == std::errc::result_out_of_range) fail_input("{}: '{}' is too large", name, text);
    if (error != std::errc() || stop != end) {
      if constexpr (std::is_floating_point_v<Number>) fail_input("{}: '{}' is not a number", name, text);
      fail_input("{}: '{}' is not a whole number", name, text);
    }
    into = read;
  };
}

}  // namespace

std::string Option::spoken() const {
  std::string text = name;
  if (is_positional())
    for (char& c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

Option& Option::one_of(std::vector<std::string> words) {
  choices = std::move(words);
  wanted.clear();
  for (const std::string& word : choices) wanted += (wanted.empty() ? "" : "|") + word;
  set = [name = spoken(), choices = choices, wanted = wanted,
         store = std::move(set)](const std::string& text) {
    for (const std::string& choice : choices)
      if (choice == text) return store(text);
    fail_input("{}: '{}' is not one of {}", name, text, wanted);
  };
  return *this;
}

Option& Options::add(Option option) { return all_.emplace_back(std::move(option)); }

Option& Options::flag(std::string name, bool& into, std::string help) {
  return flag(
      std::move(name), [&into] { into = true; }, std::move(help));
}

Option& Options::flag(std::string name, std::function<void()> act, std::string help) {
  return add({.name = std::move(name),
              .help = std::move(help),
              .takes = Option::Takes::nothing,
              .many = true,
              .set = [act = std::move(act)](const std::string&) { act(); }});
}

Option& Options::value(std::string name, Set set, std::string help) {
  return add({.name = std::move(name), .help = std::move(help), .set = std::move(set)});
}

Option& Options::value(std::string name, std::string& into, std::string help) {
  return value(std::move(name), Set([&into](const std::string& text) { into = text; }), std::move(help));
}

Option& Options::value(std::string name, int& into, std::string help) {
  return value(name, number_into(into, name), std::move(help)).wants("N");
}

Option& Options::value(std::string name, int64_t& into, std::string help) {
  return value(name, number_into(into, name), std::move(help)).wants("N");
}

Option& Options::value(std::string name, uint64_t& into, std::string help) {
  return value(name, number_into(into, name), std::move(help)).wants("N");
}

Option& Options::value(std::string name, double& into, std::string help) {
  return value(name, number_into(into, name), std::move(help)).wants("X");
}

Option& Options::value(std::string name, std::optional<int64_t>& into, std::string help) {
  auto set = [&into, name](const std::string& text) { number_into(into.emplace(), name)(text); };
  return value(name, Set(set), std::move(help)).wants("N");
}

Option& Options::optional_value(std::string name, Set set, std::string help) {
  return add({.name = std::move(name),
              .help = std::move(help),
              .takes = Option::Takes::perhaps,
              .set = std::move(set)});
}

Option& Options::words(std::string name, std::vector<std::string>& into, std::string help) {
  return add({.name = std::move(name),
              .help = std::move(help),
              .many = true,
              .set = [&into](const std::string& text) { into.push_back(text); }});
}

Option& Options::program(std::vector<std::string>& into, std::string help) {
  runs_a_program_ = true;
  return words("program", into, std::move(help));
}

}  // namespace plimsoll::cli
