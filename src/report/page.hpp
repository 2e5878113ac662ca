// The HTML page of a run: one self-contained file, or a page and its parts for a server.
#pragma once
#include <string>
#include <string_view>

namespace plimsoll::report {

enum class PageMode {
  file,  // everything inside, the data too
  live,  // refers to /page.css, /dygraph.js and /page.js; fetches /api/run and listens to /events
};

// `json` is what run_json or comparison_json gives; a live page takes none. Error where the build had no dygraphs.
std::string page(PageMode mode, std::string_view json = {});

// The parts a live page asks for.
std::string_view page_style();     // /page.css
std::string_view page_script();    // /page.js
std::string_view charts_script();  // /dygraph.js

// Whether the build found dygraphs; without it there is no page.
bool has_charts();

// What a server must send with the live page: nothing inline, nothing from elsewhere.
inline constexpr const char* live_content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace plimsoll::report
