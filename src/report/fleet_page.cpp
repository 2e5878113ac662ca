// A fleet as one self-contained page without scripts: the sentence, a chart of how the runs lie together, a row for each.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "report/fleet.hpp"
#include "report/page_parts.hpp"
#include "report/shown_text.hpp"

namespace plimsoll::report {
namespace {

constexpr double chart_width = 860, chart_height = 220, spark_width = 120, spark_height = 24;
constexpr size_t few = 12;  // runs that are drawn one by one
constexpr const char* colours[few] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2",
                                      "#7f7f7f", "#bcbd22", "#17becf", "#aec7e8", "#ffbb78", "#98df8a"};

std::string points(const std::vector<double>& curve, double low, double high, double width, double height) {
  std::string out;
  for (size_t i = 0; i < curve.size(); ++i)
    out += fmt::format("{:.1f},{:.1f} ", width * double(i) / double(std::max<size_t>(1, curve.size() - 1)),
                       height - (high > low ? (curve[i] - low) / (high - low) : .5) * height);
  return out;
}

std::string line(const std::vector<double>& curve, double low, double high, double width, double height,
                 const char* colour, double thick = 1) {
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" points=\"{}\"/>", colour,
                     thick, points(curve, low, high, width, height));
}

// A few runs as lines; of many the band from the lowest to the highest, the median, and the worst one.
std::string chart(const Fleet& fleet, const std::vector<const Member*>& order) {
  double high = 0;
  std::vector<const Member*> drawn;
  for (const Member* m : order)
    if (!m->curve.empty())
      drawn.push_back(m), high = std::max(high, *std::max_element(m->curve.begin(), m->curve.end()));
  if (drawn.empty() || high <= 0) return "";
  std::string out = fmt::format(
      "<svg role=\"img\" aria-label=\"Memory of the runs over their time\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "width=\"100%\"><text x=\"4\" y=\"12\" font-size=\"11\" fill=\"#888\">{}</text>",
      chart_width, chart_height + 4, format_bytes(uint64_t(high)));
  if (drawn.size() <= few) {
    for (size_t i = 0; i < drawn.size(); ++i)
      out += line(drawn[i]->curve, 0, high, chart_width, chart_height, colours[i], 1.5);
    return out + "</svg>";
  }
  const size_t count = drawn.front()->curve.size();
  std::vector<double> lowest, highest, median;
  for (size_t i = 0; i < count; ++i) {
    std::vector<double> values;
    for (const Member* m : drawn) values.push_back(m->curve[i]);
    std::sort(values.begin(), values.end());
    lowest.push_back(values.front()), highest.push_back(values.back());
    median.push_back(values[values.size() / 2]);
  }
  std::string back = points(highest, 0, high, chart_width, chart_height);
  for (size_t i = count; i-- > 0;)
    back += fmt::format("{:.1f},{:.1f} ", chart_width * double(i) / double(count - 1),
                        chart_height - lowest[i] / high * chart_height);
  out += fmt::format("<polygon fill=\"#1f77b4\" fill-opacity=\"0.2\" points=\"{}\"/>", back);
  out += line(median, 0, high, chart_width, chart_height, "#1f77b4", 2);
  out += line(fleet.members[fleet.worst].curve, 0, high, chart_width, chart_height, "#d62728", 2);
  return out + "</svg>";
}

std::string row(const Member& m) {
  const bool leak = m.judged && m.verdict.kind == verdict::Kind::leak;
  const auto bytes = [](double value) {
    return std::isfinite(value) ? format_bytes(uint64_t(std::max(0., value))) : std::string("–");
  };
  std::string spark;
  if (!m.curve.empty()) {
    const auto [low, high] = std::minmax_element(m.curve.begin(), m.curve.end());
    spark = fmt::format("<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\">{2}</svg>",
                        spark_width, spark_height,
                        line(m.curve, *low, *high, spark_width, spark_height, leak ? "#d62728" : "#1f77b4"));
  }
  const std::string sentence = !m.unread.empty() ? m.unread
                               : m.judged        ? shown_sentence(m.verdict.sentence)
                                                 : "Too short to be judged.";
  return fmt::format(
      "<tr><td><details><summary>{}{}</summary>{}<br>{}<br>{}{}</details></td><td>{}</td><td>{}</td>"
      "<td>{}</td><td>{}</td></tr>\n",
      leak ? "<strong>" : "", escape_html(m.name) + (leak ? "</strong>" : ""), escape_html(sentence),
      escape_html(shown(m.path)), escape_html(m.model),
      m.started.empty() ? "" : escape_html(", started " + m.started),
      !m.unread.empty() ? "unreadable"
      : m.judged        ? verdict::kind_name(m.verdict.kind)
                        : "not judged",
      bytes(m.floor), bytes(m.peak), spark);
}

}  // namespace

std::string fleet_page(const Fleet& fleet) {
  const auto order = worst_first(fleet);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{} "
      "runs</title><style>{}</style></head>\n"
      "<body><main>\n<h1>{} runs</h1>\n<p id=\"sentence\"><strong>{}</strong></p>\n{}\n",
      embedded_style_hash, fleet.members.size(), embedded_style, fleet.members.size(),
      escape_html(fleet.sentence), chart(fleet, order));
  if (fleet.members.size() > few)
    out += fmt::format(
        "<p>Band: lowest to highest run. Blue: median. Red: {}. The width is each run's own time.</p>\n",
        escape_html(fleet.members[fleet.worst].name));
  out +=
      "<table><thead><tr><th>run</th><th>verdict</th><th>floor</th><th>peak</th><th>memory</th></tr></thead>"
      "<tbody>\n";
  for (const Member* member : order) out += row(*member);
  return out + "</tbody></table>\n</main></body></html>\n";
}

}  // namespace plimsoll::report
