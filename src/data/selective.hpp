// Selective loss: tokens of an answer that only write the structure of JSON need not be learned again and again.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

enum class Structure {
  none,
  conservative,  // tokens made only of {}[]:," and white space
  moderate,      // also null
  aggressive     // also keys
};
// InputError for another name.
Structure parse_structure(std::string_view name);

struct SelectiveLoss {
  Structure structure = Structure::none;
  std::vector<std::string> keys = {};  // aggressive: those that are structure; empty: every key
};

// "name,size" as names.
std::vector<std::string> split_names(std::string_view list);

// Which tokens, given by their texts in order, write only structure.
std::vector<bool> find_structure(std::span<const std::string_view> tokens, const SelectiveLoss& selective);

}  // namespace plimsoll
