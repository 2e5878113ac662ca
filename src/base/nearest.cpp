#include "base/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

// Insertions, deletions and replacements that turn one word into the other, one row of the table at a time.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  word = word.substr(0, 100);  // a hostile word must not cost much
  auto best = std::min_element(known.begin(), known.end(),
                               [&](const auto& a, const auto& b) { return edits(word, a) < edits(word, b); });
  return best == known.end() ? std::string() : *best;
}

std::string likely_meant(std::string_view word, const std::vector<std::string>& known) {
  word = word.substr(0, 100);
  if (word.find_first_not_of('-') == word.npos) return {};
  for (const std::string& whole : known)
    if (whole.starts_with(word)) return whole;
  const std::string best = nearest(word, known);
  const size_t letters = word.size() - word.find_first_not_of('-');
  return edits(word, best) <= (letters <= 3 ? 1 : std::max<size_t>(2, letters / 4)) ? best : std::string();
}

}  // namespace plimsoll
