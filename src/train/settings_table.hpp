// The one description of every setting. From a row follow its flag (--eval-every), its environment variable
// (PLIMSOLL_EVAL_EVERY), its TOML and JSON key (eval_every), its check, its help and its line in
// docs/configuration.md.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "train/settings.hpp"

namespace plimsoll {

enum class Visibility { everywhere, internal };  // internal: saved with a run, not yet for people to set
enum class OnResume { may_change, must_agree };

struct Setting {
  using Member = std::variant<int Settings::*, uint64_t Settings::*, double Settings::*, bool Settings::*,
                              std::string Settings::*>;
  const char* group;
  const char* name;  // full word, '_' between words
  Member member;
  const char* wanted;  // placeholder and expectation: "N", "NAME", "char|bytes"; choices are split at '|'
  const char* help;
  double least = 0, most = 0;  // numbers: inclusive bounds
  OnResume on_resume = OnResume::may_change;
  Visibility visibility = Visibility::everywhere;
  bool below_most = false;  // `most` itself is out of range

  std::string flag() const;           // --eval-every
  std::string negative_flag() const;  // --no-tied, of a switch
  std::string environment() const;    // PLIMSOLL_EVAL_EVERY
  bool is_switch() const { return std::holds_alternative<bool Settings::*>(member); }
};

std::span<const Setting> settings_table();
const Setting* find_setting(std::string_view name);
// The known name most like `name`, for "did you mean".
std::string nearest_setting(std::string_view name);

// Whether a preset has a say in it: not all presets agree.
bool differs_between_presets(const Setting& setting);

// Sets the field from text; InputError begins with `where` ("--layers", "PLIMSOLL_LAYERS", "run.toml line 3,
// layers").
void assign(const Setting& setting, Settings& settings, std::string_view text, std::string_view where);
// InputError when the field is out of its range or not one of its choices.
void check(const Setting& setting, const Settings& settings, std::string_view where);
// As `assign` reads it.
std::string text_of(const Setting& setting, const Settings& settings);
// "a whole number from 1 to 1024"
std::string expectation(const Setting& setting);

}  // namespace plimsoll
