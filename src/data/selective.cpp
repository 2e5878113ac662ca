#include "data/selective.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plimsoll {
namespace {

bool is_structural(char c) { return std::string_view("{}[]:,\" \t\n\r").find(c) != std::string_view::npos; }

// `null` between structural characters.
void mark_nulls(std::string_view text, std::vector<bool>& marked) {
  constexpr std::string_view null = "null";
  for (size_t at = text.find(null); at != text.npos; at = text.find(null, at + null.size())) {
    const size_t end = at + null.size();
    if ((at == 0 || is_structural(text[at - 1])) && (end == text.size() || is_structural(text[end])))
      std::fill_n(marked.begin() + ptrdiff_t(at), null.size(), true);
  }
}

// Strings in quotes that a colon follows.
void mark_keys(std::string_view text, const std::vector<std::string>& keys, std::vector<bool>& marked) {
  size_t open = text.npos;  // behind the quote a string begins with
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && open != text.npos) {
      ++at;
    } else if (text[at] == '"' && open == text.npos) {
      open = at + 1;
    } else if (text[at] == '"') {
      const std::string_view string = text.substr(open, at - open);
      const size_t next = text.find_first_not_of(" \t\n\r", at + 1);
      if (next != text.npos && text[next] == ':' &&
          (keys.empty() || std::find(keys.begin(), keys.end(), string) != keys.end()))
        std::fill_n(marked.begin() + ptrdiff_t(open), string.size(), true);
      open = text.npos;
    }
  }
}

}  // namespace

Structure parse_structure(std::string_view name) {
  if (name.empty() || name == "off") return Structure::none;
  if (name == "conservative") return Structure::conservative;
  if (name == "moderate") return Structure::moderate;
  if (name == "aggressive") return Structure::aggressive;
  fail_input("selective_loss: {} is none of off, conservative, moderate and aggressive", name);
}

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::vector<bool> find_structure(std::span<const std::string_view> tokens, const SelectiveLoss& selective) {
  std::string text;
  for (const std::string_view token : tokens) text += token;
  std::vector<bool> marked(text.size());
  if (selective.structure != Structure::none)
    for (size_t i = 0; i < text.size(); ++i) marked[i] = is_structural(text[i]);
  if (selective.structure >= Structure::moderate) mark_nulls(text, marked);
  if (selective.structure >= Structure::aggressive) mark_keys(text, selective.keys, marked);
  std::vector<bool> structure;
  size_t begin = 0;
  for (const std::string_view token : tokens) {
    bool all = !token.empty();
    for (size_t i = 0; i < token.size(); ++i) all = all && marked[begin + i];
    structure.push_back(all);
    begin += token.size();
  }
  return structure;
}

}  // namespace plimsoll
