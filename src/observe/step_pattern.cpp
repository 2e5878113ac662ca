// A user's own expression for steps. Apart from the rest because of what <regex> costs a compiler.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized"  // g++ 12 warns falsely inside <regex> under sanitizers
#endif
#include <regex>

#include "base/error.hpp"
#include "observe/steps.hpp"

namespace plimsoll::observe {

struct StepPattern::Compiled {
  std::regex expression;
};

StepPattern::StepPattern(const std::string& expression) {
  auto flags = std::regex::ECMAScript | std::regex::optimize;
#ifdef __GLIBCXX__
  // Matches in time linear in the line: no expression can hang the watcher. Refuses back-references.
  flags |= std::regex_constants::__polynomial;
#endif
  try {
    compiled_ = std::make_unique<Compiled>(Compiled{std::regex(expression, flags)});
  } catch (const std::regex_error& error) {
    fail_input(
        "--step-regex '{}' is not a regular expression ({}); write one whose first group is the step, like "
        "'it=([0-9]+)'",
        expression, error.what());
  }
}

StepPattern::~StepPattern() = default;

std::optional<int64_t> StepPattern::find(std::string_view line) const {
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_search(line.begin(), line.end(), match, compiled_->expression)) return std::nullopt;
  const auto& group = match.size() > 1 ? match[1] : match[0];
  return leading_integer(std::string_view(group.first, group.second));
}

}  // namespace plimsoll::observe
