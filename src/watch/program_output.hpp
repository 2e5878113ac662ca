// The output of a launched program: forwarded byte for byte, and scanned for steps and phases.
#pragma once
#include <functional>
#include <memory>

#include "observe/steps.hpp"
#include "platform/child.hpp"
#include "platform/descriptors.hpp"
#include "platform/relay.hpp"

namespace plimsoll::watch {

class ProgramOutput {
 public:
  using Event = std::function<void(const observe::Recognised&)>;
  // `pattern` may be null. Does nothing where the child's output is inherited.
  ProgramOutput(platform::Child& child, const observe::StepPattern* pattern, const Event& event);

  platform::Awaited output() const { return output_.wants(); }
  platform::Awaited error() const { return error_.wants(); }
  // After waiting for both. Who reads our output and goes away is gone for the program too.
  void advance(bool output_ready, bool error_ready);
  void drain();
  bool ends_with_newline() const { return output_.ends_with_newline(); }
  bool ends_with_newline(int stream) const {
    return (stream == platform::standard_error ? error_ : output_).ends_with_newline();
  }

 private:
  platform::Child& child_;
  observe::LineCutter output_lines_, error_lines_;
  platform::Relay output_, error_;
};

}  // namespace plimsoll::watch
