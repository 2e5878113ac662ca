#include "model/families.hpp"

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "model/gpt.hpp"
#include "model/idefics3.hpp"
#include "model/llama.hpp"

namespace plimsoll {
namespace {

std::vector<Family>& families() {
  static std::vector<Family> known = {
      {"gpt2", make_gpt},    {"llama", make_llama},       {"qwen2", make_llama},
      {"qwen3", make_llama}, {"idefics3", make_idefics3},
  };
  return known;
}

}  // namespace

std::unique_ptr<Model> make_model(Graph& graph, const ModelSpec& spec) {
  for (const Family& family : families())
    if (family.name == spec.family) return family.make(graph, spec);
  fail_input("model family '{}' is unknown; use one of {}", spec.family, fmt::join(family_names(), ", "));
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.push_back(family.name);
  return names;
}

uint64_t parameter_count(const ModelSpec& spec) {
  Graph graph;
  return make_model(graph, spec)->count();
}

uint64_t trained_count(const ModelSpec& spec) {
  Graph graph;
  uint64_t sum = 0;
  const auto model = make_model(graph, spec);
  for (const Parameter& p : model->parameters())
    if (!p.frozen) sum += static_cast<uint64_t>(graph[p.id].type.elements());
  return sum;
}

void register_family(Family family) {
  for (Family& known : families())
    if (known.name == family.name) {
      known = std::move(family);
      return;
    }
  families().push_back(std::move(family));
}

}  // namespace plimsoll
