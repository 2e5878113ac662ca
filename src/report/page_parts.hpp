// The parts of the page as embedded by the build (cmake/embed_page.cmake), each with its hash for the content
// security policy. `charts` is dygraphs; it is empty if the build did not find it.
#pragma once
#include <string_view>

namespace plimsoll::report {

extern const std::string_view embedded_html, embedded_style, embedded_script, embedded_charts;
extern const std::string_view embedded_html_hash, embedded_style_hash, embedded_script_hash,
    embedded_charts_hash;

}  // namespace plimsoll::report
