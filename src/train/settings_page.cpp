#include "train/settings_page.hpp"

#include <fmt/format.h>

#include "base/units.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {
namespace {

constexpr int vocabulary_of_example = 35;

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace

std::string settings_markdown() {
  std::string page = "| key | flag | environment | default | what it is |\n|---|---|---|---|---|\n";
  for (const Setting& setting : settings_table()) {
    if (setting.visibility == Visibility::internal) continue;
    std::string flag = setting.is_switch()
                           ? fmt::format("`{}`, `{}`", setting.flag(), setting.negative_flag())
                           : code(setting.flag() + " " + escaped(setting.wanted));
    page += fmt::format("| `{}` | {} | `{}` | {} | {} |\n", setting.name, flag, setting.environment(),
                        code(text_of(setting, Settings{})), setting.help);
  }
  std::string rule = "|---|";
  page += "\n| preset |";
  for (const std::string& name : preset_names()) page += fmt::format(" {} |", name), rule += "---|";
  page += "\n" + rule + "\n";
  for (const Setting& setting : settings_table()) {
    if (std::string_view(setting.name) == "preset" || !differs_between_presets(setting)) continue;
    page += fmt::format("| `{}` |", setting.name);
    for (const std::string& name : preset_names())
      page += fmt::format(" {} |", text_of(setting, preset(name)));
    page += "\n";
  }
  page += fmt::format("| parameters, {} tokens unless fixed |", vocabulary_of_example);
  for (const std::string& name : preset_names()) {
    Settings s = preset(name);
    page += fmt::format(" {} |", format_count(parameters(s, s.vocab ? s.vocab : vocabulary_of_example)));
  }
  return page + "\n";
}

}  // namespace plimsoll
