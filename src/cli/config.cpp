// `plimsoll config`: shows every setting, its value and its source.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/settings_flags.hpp"
#include "train/settings_json.hpp"
#include "train/settings_page.hpp"
#include "train/settings_table.hpp"

namespace plimsoll::cli::config_command {
namespace {

SettingsSources sources;
bool as_json = false, as_markdown = false;

void print_json(const Resolved& run) {
  nlohmann::ordered_json out;
  nlohmann::json values = to_json(run.settings);
  for (const Setting& setting : settings_table()) {
    if (setting.hidden) continue;
    out["settings"][setting.name] = {{"value", values.at(setting.name)},
                                     {"from", run.origins.at(setting.name).where}};
  }
  fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const Resolved& run) {
  std::string group;
  for (const Setting& setting : settings_table()) {
    if (setting.hidden) continue;
    if (group != setting.group) {
      fmt::print("{}{}\n", group.empty() ? "" : "\n", setting.group);
      group = setting.group;
    }
    std::string value = text_of(setting, run.settings);
    fmt::print("  {:<18}{:<22} {}\n", setting.name, value.empty() ? "-" : value,
               run.origins.at(setting.name).where);
  }
}

void run() {
  if (as_markdown) {
    fmt::print("{}", settings_markdown());
    return;
  }
  Resolved resolved = trace(sources);
  as_json ? print_json(resolved) : print_text(resolved);
}

Command command(80, "config", "show every setting, its value and where it comes from",
                "plimsoll config --small 5000 --config run.toml --lr 1e-3", [](Options& options) {
                  options.flag("--json", as_json, "print one JSON object");
                  options.flag("--markdown", as_markdown, "print the tables of docs/configuration.md");
                  add_settings(options, sources);
                  options.run(run);
                });

}  // namespace
}  // namespace plimsoll::cli::config_command
