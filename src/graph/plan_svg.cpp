// Draws a plan: nodes of the step on the horizontal axis, offsets on the vertical axis, one rectangle per
// value, coloured by role.
#include <algorithm>
#include <string>

#include "base/units.hpp"
#include "graph/plan.hpp"

namespace plimsoll {
namespace {

constexpr const char* colours[role_count] = {"#4c72b0", "#c44e52", "#8172b3",
                                             "#55a868", "#64b5cd", "#b0b0b0"};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text)
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

}  // namespace

std::string plan_svg(const Graph& graph, const Plan& plan) {
  constexpr double width = 1100, height = 620, left = 80, top = 40;
  const size_t nodes = graph.lists().empty() ? 1 : std::max<size_t>(1, graph.lists()[0].nodes().size());
  const double across = width / double(nodes), up = height / double(std::max<uint64_t>(1, plan.total));
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<title>Memory plan: {} ({} nodes)</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      left + width + 20, top + height + 70, format_bytes(plan.total), nodes);
  auto rectangle = [&](double x, double w, uint64_t offset, uint64_t bytes, Role role,
                       const std::string& label) {
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"white\" "
        "stroke-width=\".3\"><title>{}</title></rect>\n",
        left + x, top + height - double(offset + bytes) * up, w, std::max(.2, double(bytes) * up),
        colours[int(role)], escaped(label));
  };
  for (size_t i = 0; i < plan.at.size(); ++i) {
    const Place& place = plan.at[i];
    if (place.storage != ValueId(i) || place.list > 0) continue;
    const Value& value = graph[ValueId(i)];
    const bool always = place.list < 0;
    for (int lane = 0; lane < place.copies; ++lane)
      rectangle(always ? 0 : place.first * across, always ? width : (place.last - place.first + 1) * across,
                place.of_lane(lane), place.bytes, value.role,
                fmt::format("{} {} {}, {}", value.name, value.type.text(), format_bytes(value.type.bytes()),
                            role_name(value.role)));
  }
  if (plan.total > plan.scratch_offset)
    rectangle(0, width, plan.scratch_offset, plan.total - plan.scratch_offset, Role::scratch,
              fmt::format("scratch of {} threads", plan.threads));
  for (int tick = 0; tick <= 4; ++tick) {
    const double y = top + height - height * tick / 4;
    svg += fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" "
        "y2=\"{:.1f}\" stroke=\"#999\" stroke-width=\".5\"/>\n",
        left - 8, y + 4, format_bytes(plan.total * uint64_t(tick) / 4), left - 4, left, y, y);
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">node of the training step (0 to {})</text>\n",
      left + width / 2, top + height + 24, nodes - 1);
  for (int r = 0; r < role_count; ++r)
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
        left + r * 130, top + height + 40, colours[r], left + r * 130 + 18, top + height + 51,
        role_name(Role(r)));
  return svg +
         fmt::format(
             "<text x=\"{}\" y=\"24\" font-size=\"15\">Memory plan {} (lower bound {})</text>\n</svg>\n",
             left, format_bytes(plan.total), format_bytes(plan.lower_bound));
}

}  // namespace plimsoll
