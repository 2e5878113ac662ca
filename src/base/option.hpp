// Tables of options: one row describes a field of a struct once, and from it follow the flag (--eval-every),
// the environment variable (PLIMSOLL_EVAL_EVERY), the TOML and JSON key (eval_every), the check, the help and
// the line in the documentation. The settings of a run and the guard's policy are two such tables.
//
//   const Option<Policy> keys[] = {{"Policy", "dwell", &Policy::dwell, "TIME", "calm needed …", 0, 86400}};
//   assign(keys[0], policy, "90s", "--dwell");   // or InputError, beginning with "--dwell: "
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.hpp"

namespace plimsoll {

// All of a row but which field it is about.
struct OptionRow {
  const char* group;   // heading in the help
  const char* name;    // full word, '_' between words
  const char* wanted;  // placeholder and expectation: "N", "TIME", "char|bytes"; choices are split at '|'
  const char* help;
  double least = 0, most = 0;  // numbers: inclusive bounds
  bool below_most = false;     // `most` itself is out of range
  bool hidden = false;         // saved with a run, not for people to set

  std::string flag() const;                                            // --eval-every
  std::string negative_flag() const;                                   // --no-tied, of a switch
  std::string environment() const;                                     // PLIMSOLL_EVAL_EVERY
  bool is_time() const { return std::string_view(wanted) == "TIME"; }  // seconds, written with a unit
};

// The field of one owner, by its type.
template <typename... Types>
using PointerTo = std::variant<Types*...>;
using OptionField = PointerTo<int, uint64_t, double, bool, std::string, std::optional<Size>>;
using ConstOptionField = PointerTo<const int, const uint64_t, const double, const bool, const std::string,
                                   const std::optional<Size>>;

// Sets the field from text; InputError begins with `where` ("--layers", "run.toml line 3, layers").
void assign_field(const OptionRow& row, OptionField field, std::string_view text, std::string_view where);
// InputError when the field is out of its range or not one of its choices.
void check_field(const OptionRow& row, ConstOptionField field, std::string_view where);
// As assign_field reads it; empty for a size that is not given.
std::string text_of_field(const OptionRow& row, ConstOptionField field);
// "a whole number from 1 to 1024"
std::string expectation_of(const OptionRow& row, ConstOptionField field);

template <typename Owner>
struct Option : OptionRow {
  using Member = std::variant<int Owner::*, uint64_t Owner::*, double Owner::*, bool Owner::*,
                              std::string Owner::*, std::optional<Size> Owner::*>;
  Option(const char* heading, const char* key, Member field, const char* placeholder, const char* text,
         double from = 0, double to = 0)
      : OptionRow{heading, key, placeholder, text, from, to}, member(field) {}

  Member member;

  bool is_switch() const { return std::holds_alternative<bool Owner::*>(member); }
  OptionField field(Owner& owner) const {
    return std::visit([&](auto pointer) -> OptionField { return &(owner.*pointer); }, member);
  }
  ConstOptionField field(const Owner& owner) const {
    return std::visit([&](auto pointer) -> ConstOptionField { return &(owner.*pointer); }, member);
  }
};

template <typename Owner>
void assign(const Option<Owner>& option, Owner& owner, std::string_view text, std::string_view where) {
  assign_field(option, option.field(owner), text, where);
}
template <typename Owner>
void check(const Option<Owner>& option, const Owner& owner, std::string_view where) {
  check_field(option, option.field(owner), where);
}
template <typename Owner>
std::string text_of(const Option<Owner>& option, const Owner& owner) {
  return text_of_field(option, option.field(owner));
}
template <typename Owner>
std::string expectation(const Option<Owner>& option) {
  const Owner owner;
  return expectation_of(option, option.field(owner));
}

// In rising order of strength.
enum class Source { fallback, preset, checkpoint, file, environment, command_line };

// What somebody said about an option, and where: "run.toml line 3", "PLIMSOLL_LAYERS", "--layers".
struct Given {
  std::string text, where;
  Source source = Source::fallback;
};
using GivenByName = std::map<std::string, Given>;

using Environment = std::function<const char*(const char*)>;  // a variable's value or null

// Everything people said, the strongest voice for each option: command line (a name and its text as typed)
// over environment over the TOML file (empty: none). InputError for what is no option of the table, with the
// one it is most like, and for a value whose type in the file cannot be the option's. `what` is what the
// table's rows are called ("setting"). Hidden rows are not for people; an empty variable counts as not set.
struct OptionSources {
  const std::map<std::string, std::string>& command_line;
  const std::string& file;
  const Environment& environment;
};
struct OptionShape {  // a row and the type of its field
  const OptionRow* row;
  ConstOptionField field;
};
GivenByName gather_given(std::span<const OptionShape> table, const char* what, const OptionSources& sources);

template <typename Table>
GivenByName gather(const Table& table, const char* what, const OptionSources& sources) {
  // One owner lends its fields so that their types are known.
  static const decltype([]<typename Owner>(const Option<Owner>&) { return Owner{}; }(table[0])) owner;
  std::vector<OptionShape> shapes;
  for (const auto& option : table) shapes.push_back({&option, option.field(owner)});
  return gather_given(shapes, what, sources);
}

}  // namespace plimsoll
