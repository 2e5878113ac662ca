// A chat template of a model, in the part of Jinja that such templates use. Templates come with checkpoints,
// so they are not trusted: nesting, work and output are bounded.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll {

namespace jinja {
struct Statement;
}

// The template itself refused the conversation: raise_exception('...').
struct JinjaRaised : InputError {
  using InputError::InputError;
};

class JinjaTemplate {
 public:
  // Names the construct where the text is not understood (InputError).
  explicit JinjaTemplate(std::string_view text);
  ~JinjaTemplate();
  JinjaTemplate(JinjaTemplate&&) noexcept;
  JinjaTemplate& operator=(JinjaTemplate&&) noexcept;

  // InputError for what is not supported, once it is reached; JinjaRaised where the template refuses.
  std::string render(const nlohmann::ordered_json& context) const;

 private:
  std::unique_ptr<const jinja::Statement> root_;
};

}  // namespace plimsoll
