#include "cli/settings_flags.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "train/settings_table.hpp"

namespace plimsoll::cli {
namespace {

void add_preset(CLI::App& app, SettingsSources& sources, const std::string& name) {
  Settings s = preset(name);
  CLI::callback_t remember = [&sources, name](const std::vector<std::string>& values) {
    bool counted = !values.empty() && !values.front().empty();
    sources.presets.push_back({name, counted ? std::optional(values.front()) : std::nullopt});
    return true;
  };
  app.add_option("--" + name, remember,
                 fmt::format("layers {}, heads {}, dim {}, context {}, batch {}, iterations {}", s.layers,
                             s.heads, s.dim, s.context, s.batch, format_count(uint64_t(s.iterations))))
      ->expected(0, 1)
      ->type_name("[ITERATIONS]")
      ->group("Presets");
}

void add_value(CLI::App& app, SettingsSources& sources, const Setting& setting) {
  CLI::callback_t remember = [&sources,
                              name = std::string(setting.name)](const std::vector<std::string>& values) {
    sources.command_line[name] = values.back();
    return true;
  };
  app.add_option(setting.flag(), remember, setting.help)
      ->expected(1)
      ->type_name(setting.wanted)
      ->group(setting.group);
}

void add_switch(CLI::App& app, SettingsSources& sources, const Setting& setting) {
  auto add = [&](const std::string& flag, const char* text, const std::string& help) {
    auto remember = [&sources, &setting, text] {
      auto [said, first] = sources.command_line.try_emplace(setting.name, text);
      if (!first && said->second != text)
        fail_input("{} and {} contradict each other; give only one of them", setting.flag(),
                   setting.negative_flag());
    };
    app.add_flag_callback(flag, remember, help)->group(setting.group);
  };
  add(setting.flag(), "true", setting.help);
  add(setting.negative_flag(), "false", "the opposite");
}

}  // namespace

void add_settings(CLI::App& app, SettingsSources& sources) {
  for (const std::string& name : preset_names()) add_preset(app, sources, name);
  app.add_option("--config", sources.config, "TOML file of settings; flags and environment override it")
      ->type_name("FILE");
  for (const Setting& setting : settings_table()) {
    if (setting.hidden) continue;
    setting.is_switch() ? add_switch(app, sources, setting) : add_value(app, sources, setting);
  }
}

}  // namespace plimsoll::cli
