#include "train/settings_json.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {

nlohmann::json to_json(const Settings& settings) {
  nlohmann::json json = nlohmann::json::object();
  for (const Setting& setting : settings_table())
    std::visit(
        [&]<typename T>(const T* value) {
          if constexpr (std::is_same_v<T, std::optional<Size>>)
            json[setting.name] = text_of(setting, settings);
          else
            json[setting.name] = *value;
        },
        setting.field(settings));
  return json;
}

Settings from_json(const nlohmann::json& json) {
  if (!json.is_object()) fail_input("the saved settings are {}; expected an object", json.type_name());
  Settings settings;
  for (const auto& item : json.items()) {
    const std::string& name = item.key();
    const nlohmann::json& value = item.value();
    const Setting* setting = find_setting(name);
    if (!setting)
      fail_input("the saved settings have '{}', which this version does not know; use a newer plimsoll",
                 name);
    std::string where = "saved setting " + name;
    std::visit(
        [&]<typename T>(T*) {
          constexpr bool text = std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<Size>>;
          bool fits = text                        ? value.is_string()
                      : std::is_same_v<T, bool>   ? value.is_boolean()
                      : std::is_same_v<T, double> ? value.is_number()
                                                  : value.is_number_integer();
          if (!fits) fail_input("{} is {}; expected {}", where, value.type_name(), expectation(*setting));
          assign(*setting, settings, value.is_string() ? value.template get<std::string>() : value.dump(),
                 where);
        },
        setting->field(settings));
  }
  return settings;
}

}  // namespace plimsoll
