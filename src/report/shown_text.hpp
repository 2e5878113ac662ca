// Text of a record as it may be shown. A record can be written by anyone: what came in masked and escaped is masked
// and escaped again, which changes nothing where it was.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::report {

// Control characters, invalid UTF-8 and text-direction marks as escapes; cut to a few hundred characters.
std::string shown(std::string_view text);
// The same without a cut.
std::string shown_whole(std::string_view text);
// As `shown`, with everything that looks like a secret replaced by ***.
std::string masked(std::string_view text);
// The frames of a recorded stack.
std::vector<std::string> frames(std::string_view stack);

std::string escape_html(std::string_view text);  // text and attribute values, of HTML and SVG

}  // namespace plimsoll::report
