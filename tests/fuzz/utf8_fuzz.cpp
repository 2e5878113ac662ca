// Arbitrary bytes as UTF-8, as text for both tokenizers and as a saved tokenizer: either an InputError, or a
// value that survives a round trip.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "data/tokenizer.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

static void check_text(const std::string& text) {
  require(Tokenizer::bytes().decode(Tokenizer::bytes().encode(text)) == text);
  std::set<char32_t> seen;
  for (auto rest = bytes_of(text); !rest.empty();) {
    const auto [value, bytes] = first_code_point(rest);
    if (bytes == 0) break;
    require(is_scalar(value) && static_cast<size_t>(bytes) <= rest.size());
    seen.insert(value);
    rest = rest.subspan(bytes);
  }
  if (seen.empty()) return;
  const Tokenizer tokenizer = Tokenizer::characters({seen.begin(), seen.end()});
  require(Tokenizer::from_json(nlohmann::json::parse(tokenizer.to_json().dump())) == tokenizer);
  try {
    require(tokenizer.decode(tokenizer.encode(text)) == text);
  } catch (const InputError&) {
  }
}

static void check_saved(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return;
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(json);
    require(Tokenizer::from_json(tokenizer.to_json()) == tokenizer);
  } catch (const InputError&) {
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_text(text);
  check_saved(text);
  return 0;
}
