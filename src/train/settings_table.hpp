// The one description of every setting of a run (base/option.hpp says what follows from a row).
#pragma once
#include <span>
#include <string_view>

#include "base/option.hpp"
#include "train/settings.hpp"

namespace plimsoll {

enum class OnResume { may_change, must_agree };

struct Setting : Option<Settings> {
  enum class Bound { closed, below_most };
  Setting(const char* heading, const char* key, Member field, const char* placeholder, const char* text,
          double from, double to, OnResume resumed, Bound bound = Bound::closed)
      : Option(heading, key, field, placeholder, text, from, to), on_resume(resumed) {
    below_most = bound == Bound::below_most;
  }
  OnResume on_resume;
};

std::span<const Setting> settings_table();
const Setting* find_setting(std::string_view name);

// Whether a preset has a say in it: not all presets agree.
bool differs_between_presets(const Setting& setting);

}  // namespace plimsoll
