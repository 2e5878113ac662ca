// A run or a comparison as text: for a terminal with character plots, as Markdown, and its memory as CSV.
#pragma once
#include <string>

#include "report/run_data.hpp"

namespace plimsoll::report {

struct TerminalOptions {
  size_t columns = 80;
  bool unicode = true, colour = false;
};
std::string terminal_text(const RunData& data, const TerminalOptions& options);
std::string terminal_comparison(const RunData& a, const RunData& b, const TerminalOptions& options);

std::string markdown(const RunData& data);
std::string markdown_comparison(const RunData& a, const RunData& b);

// Every memory sample, nothing left out.
std::string memory_csv(const RunData& data);
// The memory chart of the page as a picture.
std::string memory_svg(const RunData& data);

// "Training run small, started …, 1m 05s, …"
std::string headline(const RunData& data);
// The verdict's sentence; where there is none, that there is none.
std::string sentence_of(const RunData& data);

}  // namespace plimsoll::report
