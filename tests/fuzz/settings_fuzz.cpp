// Arbitrary bytes as a TOML file of settings and of a policy: refused in one line, or values that passed their checks.
#include <string_view>

#include "as_file.hpp"
#include "base/error.hpp"
#include "guard/policy_settings.hpp"
#include "train/settings_sources.hpp"

using namespace plimsoll;

template <typename Resolve>
static void accept_or_refuse(Resolve resolve) {
  try {
    resolve();
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::AsFile file;
  const std::string& path = file.holding(data, size);
  const Environment nothing = [](const char*) -> const char* { return nullptr; };
  accept_or_refuse([&] {
    validate(resolve({.presets = {}, .command_line = {}, .config = path, .environment = nothing}));
  });
  accept_or_refuse([&] {
    guard::validate(guard::resolve_policy({.command_line = {}, .file = path, .environment = nothing}));
  });
  return 0;
}
