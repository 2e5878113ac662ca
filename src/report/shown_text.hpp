// Makes the text of a record safe to show. Anyone can write a record, so text is masked and escaped again,
// which does not change text that was already masked and escaped.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "record/run_reader.hpp"

namespace plimsoll::report {

// What looks like a secret as ***, control characters, invalid UTF-8 and text-direction marks as escapes; cut to a few
// hundred characters.
std::string shown(std::string_view text);
// A setting's value: all of it is a secret where its key says so.
std::string shown_value(const std::string& key, const std::string& value);
// A sentence of a verdict: masked and escaped, but whole.
std::string shown_sentence(std::string_view text);
// The frames of a recorded stack.
std::vector<std::string> frames(std::string_view stack);
// The one to name: the program's own line where the record says which, else the innermost.
std::string named_frame(const RunReader::Site& site);

std::string escape_html(std::string_view text);  // text and attribute values, of HTML and SVG

}  // namespace plimsoll::report
