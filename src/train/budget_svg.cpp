// Draws memory against predicted time, for choosing a line.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "train/budget.hpp"

namespace plimsoll {

std::string sweep_svg(const std::vector<Way>& ways, uint64_t overhead) {
  constexpr double width = 760, height = 420, left = 90, top = 40;
  double most_bytes = 1, most_seconds = 1e-9;
  for (const Way& way : ways) {
    most_bytes = std::max(most_bytes, double(way.plan_bytes + overhead));
    most_seconds = std::max(most_seconds, way.seconds);
  }
  auto x = [&](const Way& way) {
    return left + width * double(way.plan_bytes + overhead) / (1.05 * most_bytes);
  };
  auto y = [&](const Way& way) { return top + height - height * way.seconds / (1.1 * most_seconds); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<title>Memory against predicted time per "
      "step</title>\n"
      "<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#555\"/>\n",
      left + width + 30, top + height + 60, left, top, top + height, left + width);
  std::string line;
  for (const Way& way : ways)
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x(way), y(way));
  svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#4c72b0\" stroke-width=\"1.5\"/>\n", line);
  for (const Way& way : ways)
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#4c72b0\"><title>{}, {:.2f} ms: "
        "{}</title></circle>\n",
        x(way), y(way), format_bytes(way.plan_bytes + overhead), way.seconds * 1e3, way.text());
  for (int tick = 0; tick <= 4; ++tick) {
    const double part = tick / 4.0;
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", left + width * part,
                    top + height + 20, format_bytes(uint64_t(1.05 * most_bytes * part)));
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.1f} ms</text>\n", left - 8,
                       top + height - height * part + 4, 1.1 * most_seconds * part * 1e3);
  }
  return svg + fmt::format(
                   "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">memory of the whole process</text>\n"
                   "<text x=\"{}\" y=\"24\" font-size=\"15\">Memory against predicted time per "
                   "step</text>\n</svg>\n",
                   left + width / 2, top + height + 45, left);
}

}  // namespace plimsoll
