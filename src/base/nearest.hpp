// "Did you mean": finds the known word with the smallest edit distance.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Empty when there is no word to choose from.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// The same, but empty when the word is no likely misspelling or beginning of any.
std::string likely_meant(std::string_view word, const std::vector<std::string>& known);

}  // namespace plimsoll
