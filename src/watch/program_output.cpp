#include "watch/program_output.hpp"

namespace plimsoll::watch {
namespace {

auto reader(observe::LineCutter& lines, const observe::StepPattern* pattern,
            const ProgramOutput::Event& event) {
  return [&lines, pattern, event](std::string_view bytes) {
    lines.feed(bytes, [&](std::string_view line) { event(observe::recognise(line, pattern)); });
  };
}

}  // namespace

ProgramOutput::ProgramOutput(platform::Child& child, const observe::StepPattern* pattern, const Event& event)
    : child_(child),
      output_(child.output(), platform::standard_output, reader(output_lines_, pattern, event)),
      error_(child.error(), platform::standard_error, reader(error_lines_, pattern, event)) {}

void ProgramOutput::advance(bool output_ready, bool error_ready) {
  output_.advance(output_ready);
  error_.advance(error_ready);
  if (output_.broken()) child_.close_output();
  if (error_.broken()) child_.close_error();
}

void ProgramOutput::drain() {
  output_.drain();
  error_.drain();
}

}  // namespace plimsoll::watch
