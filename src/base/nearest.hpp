// "Did you mean": finds the known word with the smallest edit distance.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Empty when there is no word to choose from.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace plimsoll
