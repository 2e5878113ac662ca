#include "report/page.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "report/page_parts.hpp"
#include "report/shown_text.hpp"

namespace plimsoll::report {
namespace {

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  const size_t at = text.find(mark);
  if (at != text.npos) text.replace(at, mark.size(), by);
  return text;
}

}  // namespace

bool has_charts() { return !embedded_charts.empty(); }
std::string_view page_style() { return embedded_style; }
std::string_view page_script() { return embedded_script; }
std::string_view charts_script() { return embedded_charts; }

std::string page(PageMode mode, std::string_view json, std::string_view summary) {
  if (!has_charts())
    fail(
        "this build has no charts for an HTML page; install libjs-dygraphs and build again, or use --format "
        "md, svg, json or csv");
  std::string html(embedded_html);
  if (mode == PageMode::live) {
    html = replaced(html, "<!--root-->", " data-live");
    html = replaced(html, "<!--head-->", "<link rel=\"stylesheet\" href=\"page.css\">");
    html = replaced(html, "<!--summary-->", "");
    return replaced(html, "<!--scripts-->",
                    "<script src=\"dygraph.js\" defer></script>\n<script src=\"page.js\" defer></script>");
  }
  html = replaced(html, "<!--root-->", "");
  html =
      replaced(html, "<!--head-->",
               fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                           "script-src '{}' '{}'; style-src '{}'; img-src data:; base-uri 'none'; "
                           "form-action 'none'\">\n<style>{}</style>",
                           embedded_charts_hash, embedded_script_hash, embedded_style_hash, embedded_style));
  html = replaced(html, "<!--summary-->", escape_html(summary));
  // Last, so that nothing in the data can be taken for a mark.
  return replaced(
      html, "<!--scripts-->",
      fmt::format("<script type=\"application/json\" id=\"run\">{}</script>\n<script>{}</script>\n"
                  "<script>{}</script>",
                  json, embedded_charts, embedded_script));
}

}  // namespace plimsoll::report
