// Arbitrary bytes as a tokenizer.json: refused with a message of one line, or a tokenizer that gives back the text it
// has tokens for.
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "tokens/tokenizer.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = tokens::Tokenizer::from_json(json);
    for (const char* text : {"the théme's <|end|>  12 \r\n e\u0301 \u1ABF日本", "ab", "", " \n\n x"})
      for (const bool template_tokens : {false, true})
        for (const int32_t token : tokenizer.encode(text, template_tokens)) {
          require(tokenizer.has(token));
          tokenizer.decode(std::span(&token, 1));
        }
  } catch (const InputError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
