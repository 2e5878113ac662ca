// Arbitrary bytes as a line of JSONL: refused with a position inside the line, or accepted only if another
// JSON parser accepts it with the same result.
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/utf8.hpp"
#include "data/sample_line.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  const SampleLine sample = parse_sample_line(line);
  if (sample.problem) {
    require(sample.problem_at <= line.size());
    return 0;
  }
  std::string text;
  JsonText characters(sample.text);
  for (char32_t c = 0; characters.next(c);) append_utf8(text, c);
  require(!characters.problem() && !text.empty());
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(line);
  } catch (const nlohmann::json::out_of_range&) {
    return 0;  // a number nobody asks for that no double holds: JSON allows it, that parser does not
  }
  require(json.is_object());
  require(json.at("text").get<std::string>() == text);
  auto number = [&](const char* key, bool has, double value, double otherwise) {
    require(has ? json.at(key).get<double>() == value : value == otherwise);
    require(has || !json.contains(key) || json.at(key).is_null());
  };
  number("auth_weight", sample.has_authority, sample.provenance.authority_weight, 0);
  number("prov_entropy", sample.has_entropy, sample.provenance.provenance_entropy, 5);
  require(std::isfinite(distrust_loss(sample.provenance)));
  return 0;
}
