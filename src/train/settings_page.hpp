// Generates the tables of docs/configuration.md from the settings.
#pragma once
#include <string>

namespace plimsoll {

// Markdown: every setting with its key, flag, variable and default, then what each preset changes.
std::string settings_markdown();

}  // namespace plimsoll
