// Arbitrary bytes as a config.json: refused with a message of one line, or sizes of which a model can be made or is
// refused likewise.
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "model/families.hpp"
#include "pretrained/config.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const PretrainedConfig config = parse_config({reinterpret_cast<const char*>(data), size});
    require(config.spec.layers > 0 && config.spec.vocab > 0 && config.spec.context > 0);
    Graph graph;
    const auto model = make_model(graph, config.spec);
    for (const Parameter& parameter : model->parameters()) {
      const int64_t numbers = graph[parameter.id].type.shape.elements();
      require(numbers > 0 && numbers <= 1'000'000'000'000);
    }
  } catch (const InputError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
