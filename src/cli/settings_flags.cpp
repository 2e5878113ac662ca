#include "cli/settings_flags.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "train/settings_table.hpp"

namespace plimsoll::cli {
namespace {

void add_preset(Options& flags, SettingsSources& sources, const std::string& name) {
  const Settings s = preset(name);
  auto remember = [&sources, name](const std::string& count) {
    sources.presets.push_back({name, count.empty() ? std::nullopt : std::optional(count)});
  };
  flags
      .optional_value(
          "--" + name, remember,
          fmt::format("layers {}, heads {}, dim {}, context {}, batch {}, iterations {}", s.layers, s.heads,
                      s.dim, s.context, s.batch, format_count(uint64_t(s.iterations))))
      .wants("ITERATIONS")
      .under("Presets");
}

void add_value(Options& flags, SettingsSources& sources, const Setting& setting) {
  auto remember = [&sources, name = std::string(setting.name)](const std::string& value) {
    sources.command_line[name] = value;
  };
  flags.value(setting.flag(), remember, setting.help).wants(setting.wanted).under(setting.group);
}

void add_switch(Options& flags, SettingsSources& sources, const Setting& setting) {
  auto add = [&](const std::string& flag, const char* text, const std::string& help) {
    auto remember = [&sources, &setting, text] {
      auto [said, first] = sources.command_line.try_emplace(setting.name, text);
      if (!first && said->second != text)
        fail_input("{} and {} contradict each other; give only one of them", setting.flag(),
                   setting.negative_flag());
    };
    flags.flag(flag, remember, help).under(setting.group);
  };
  add(setting.flag(), "true", setting.help);
  add(setting.negative_flag(), "false", fmt::format("turn {} off", setting.flag()));
}

}  // namespace

void add_published(Options& flags, SettingsSources& sources) {
  for (const char* name : {"model", "context", "tokenizer", "chat_template"})
    add_value(flags, sources, *find_setting(name));
}

void add_loading(Options& flags, std::string& memory, std::string& stream) {
  flags.value("--memory", memory, "memory the whole process may use, such as 1GB; empty: no limit")
      .wants("SIZE");
  flags
      .value("--stream", stream,
             "read the matrices of a published model from its files whenever they are needed: auto (where "
             "--memory "
             "asks for it), on or off")
      .one_of({"auto", "on", "off"});
}

SavedModel run_or_published(const std::string& path, const SettingsSources& sources) {
  const auto model = sources.command_line.find("model");
  const bool published = model != sources.command_line.end();
  if (path.empty() && !published) fail_input("give either a run folder or --model DIR");
  if (path.empty()) return published_model(sources);
  for (const auto& [name, value] : sources.command_line)
    if (name != "model")
      fail_input("{} goes with --model DIR and no run; a run has its own", find_setting(name)->flag());
  return find_model(path, published ? model->second : "");
}

void add_settings(Options& flags, SettingsSources& sources) {
  for (const std::string& name : preset_names()) add_preset(flags, sources, name);
  flags.value("--config", sources.config, "TOML file of settings; flags and environment override it")
      .wants("FILE");
  for (const Setting& setting : settings_table()) {
    if (setting.hidden) continue;
    setting.is_switch() ? add_switch(flags, sources, setting) : add_value(flags, sources, setting);
  }
}

}  // namespace plimsoll::cli
