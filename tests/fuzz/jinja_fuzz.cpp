// Arbitrary bytes as a chat template: understood or refused with a message of one line, in bounded time and memory.
#include <cstdlib>
#include <string>

#include "jinja/jinja.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const nlohmann::ordered_json context = {
      {"messages",
       {{{"role", "system"}, {"content", "Be brief"}},
        {{"role", "user"}, {"content", " a\nquestion "}},
        {{"role", "assistant"}, {"content", "<think>hm</think>é"}}}},
      {"add_generation_prompt", true},
      {"bos_token", "<s>"},
      {"eos_token", "</s>"}};
  try {
    const std::string text = JinjaTemplate({reinterpret_cast<const char*>(data), size}).render(context);
    require(text.size() <= 5u << 20);
  } catch (const InputError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
