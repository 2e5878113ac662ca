// The families of models this program knows, by name. A family is a file beside gpt.cpp and a line in families.cpp.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/model.hpp"

namespace plimsoll {

struct Family {
  std::string name;
  std::unique_ptr<Model> (*make)(Graph&, const ModelSpec&);
};

// Creates the parameters of the model in `graph`; InputError where the family is unknown or the sizes do not fit it.
std::unique_ptr<Model> make_model(Graph& graph, const ModelSpec& spec);
std::vector<std::string> family_names();
// Numbers in all parameters of such a model.
uint64_t parameter_count(const ModelSpec& spec);
// Of those that are trained.
uint64_t trained_count(const ModelSpec& spec);

// For families from elsewhere, before any model is made; one of the same name is replaced.
void register_family(Family family);

}  // namespace plimsoll
