// A user's own expression for steps.
#include <re2/re2.h>

#include "base/error.hpp"
#include "observe/steps.hpp"

namespace plimsoll::observe {

struct StepPattern::Compiled {
  re2::RE2 expression;
};

// RE2 matches in time linear in the line, so no expression can hang the watcher; it refuses back-references. Bytes
// are matched as they come, whatever the encoding of the program's output.
StepPattern::StepPattern(const std::string& expression) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  compiled_.reset(new Compiled{re2::RE2(expression, options)});
  if (!compiled_->expression.ok())
    fail_input(
        "--step-regex '{}' is not a regular expression ({}); write one whose first group is the step, like "
        "'it=([0-9]+)'",
        expression, compiled_->expression.error());
  if (compiled_->expression.NumberOfCapturingGroups() == 0)
    fail_input("--step-regex '{}' has no group; put the step into one, like 'it=([0-9]+)'", expression);
}

StepPattern::~StepPattern() = default;

std::optional<int64_t> StepPattern::find(std::string_view line) const {
  const re2::RE2& expression = compiled_->expression;
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece groups[2];
  if (!expression.Match(text, 0, text.size(), re2::RE2::UNANCHORED, groups, 2)) return std::nullopt;
  const re2::StringPiece& found = groups[1];
  return leading_integer(std::string_view(found.data(), found.size()));
}

}  // namespace plimsoll::observe
