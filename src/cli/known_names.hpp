// Names people bring along: what nanoGPT and Hugging Face call our options.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::cli {

// Our option with the meaning of a foreign one ("--learning-rate", spelled with dashes); empty if it is unknown.
std::string counterpart(std::string_view foreign);
// The foreign names of the options in `ours`.
std::vector<std::string> foreign_names(const std::vector<std::string>& ours);
// What to do instead of an option that has no counterpart here ("--epochs"); empty if it is unknown.
std::string advice_on(std::string_view foreign);

}  // namespace plimsoll::cli
