// The memory chart of a run as SVG: phases, the band of the trend, the curve, its floor, the line, spikes.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "report/shown_text.hpp"
#include "report/text.hpp"
#include "report/thin.hpp"
#include "report/trend.hpp"

namespace plimsoll::report {
namespace {

constexpr double width = 1100, height = 420, left = 84, right = 24, top = 56, bottom = 44;

constexpr const char* style =
    "<style>.g{fill:#fff}.t{fill:#1c2530}.m{fill:#5d6878}.r{stroke:#e8ecf0}.c{fill:none;stroke:#2b6c9b}"
    ".f{fill:none;stroke:#0f7f75;stroke-width:2}.b{fill:#c2452d;opacity:.16}"
    ".d{fill:none;stroke:#c2452d;stroke-dasharray:6 4}"
    ".l{stroke:#9b1c31;stroke-width:1.5}.lt{fill:#9b1c31}.p{fill:#7fa8d9;opacity:.3}"
    "@media(prefers-color-scheme:dark){.g{fill:#191f26}.t{fill:#e5e9ee}.m{fill:#a0abb9}.r{stroke:#252c35}"
    ".c{stroke:#74b0dd}.f{stroke:#4fc3b4}.b{fill:#f08a6c}.d{stroke:#f08a6c}.l{stroke:#f2788a}.lt{fill:#"
    "f2788a}}"
    "</style>\n";

// A step of 1, 2 or 5 times a power of ten that cuts `span` into about five.
double nice_step(double span) {
  const double power = std::pow(10, std::floor(std::log10(std::max(span, 1e-9) / 5)));
  for (const double factor : {1., 2., 5.})
    if (factor * power >= span / 5) return factor * power;
  return 10 * power;
}

class MemoryChart {
 public:
  explicit MemoryChart(const RunData& data);
  std::string svg() const;

 private:
  double x(double time) const { return left + time / end_ * (width - left - right); }
  double y(double value) const {
    return height - bottom - (value - low_) / (high_ - low_) * (height - top - bottom);
  }
  std::string point(double time, double bytes) const {
    return fmt::format("{:.1f},{:.1f} ", x(time), y(bytes));
  }
  std::string head() const;
  std::string phases() const;
  std::string axes() const;
  std::string band() const;
  std::string curve() const;
  std::string spikes() const;
  std::string line() const;

  const RunData& data_;
  const Trend trend_;
  std::vector<size_t> kept_;  // rows of data_.memory that are drawn
  double end_ = 1e-3, low_ = 0, high_ = 1;
  bool line_near_ = false;  // a line far above the curve is left out
};

MemoryChart::MemoryChart(const RunData& data) : data_(data), trend_(trend_of(data)) {
  const auto& rows = data.memory;
  kept_ = rows_to_show(
      rows.size(), [&](size_t i) { return rows[i].time; },
      {[&](size_t i) { return footprint(rows[i]) < 0 ? unknown_real : double(footprint(rows[i])); }}, 700);
  for (const size_t i : kept_) {
    end_ = std::max(end_, rows[i].time);
    const double value = double(std::max<int64_t>(0, footprint(rows[i])));
    low_ = i == kept_.front() ? value : std::min(low_, value), high_ = std::max(high_, value);
  }
  if (high_ - low_ > .4 * high_) low_ = 0;
  line_near_ = data.line > 0 && data.line < 2.5 * high_;
  if (line_near_) high_ = std::max(high_, data.line);
  const double pad = std::max(.08 * (high_ - low_), .04 * high_);
  high_ += pad, low_ = std::max(0., low_ - pad);
}

std::string MemoryChart::head() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" font-family=\"system-ui, "
      "sans-serif\" font-size=\"13\">\n<title>{}</title>\n<desc>{}</desc>\n{}<rect class=\"g\" "
      "width=\"100%\" "
      "height=\"100%\"/>\n<text class=\"t\" x=\"{}\" y=\"28\" font-size=\"16\" "
      "font-weight=\"600\">{}</text>\n",
      width, height, escape_html(headline(data_)), escape_html(sentence_of(data_)), style, left,
      escape_html(headline(data_)));
}

std::string MemoryChart::phases() const {
  std::string svg;
  const std::vector<RunReader::Phase>& phases = data_.phases;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].name.empty() || phases[i].name.starts_with("train")) continue;
    const double from = x(phases[i].time), to = x(i + 1 < phases.size() ? phases[i + 1].time : end_);
    svg += fmt::format(
        "<rect class=\"p\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}</title></rect>\n",
        from, top, std::max(.5, to - from), height - top - bottom, escape_html(shown(phases[i].name)));
  }
  return svg;
}

std::string MemoryChart::axes() const {
  std::string svg;
  const double step = nice_step(high_ - low_);
  for (double tick = std::ceil(low_ / step) * step; tick <= high_; tick += step)
    svg += fmt::format(
        "<line class=\"r\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"m\" x=\"{}\" "
        "y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        left, width - right, y(tick), y(tick), left - 8, y(tick) + 4, format_bytes(uint64_t(tick)));
  for (int tick = 0; tick <= 5; ++tick)
    svg += fmt::format("<text class=\"m\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       x(end_ * tick / 5), height - bottom + 22, format_duration(end_ * tick / 5));
  return svg;
}

std::string MemoryChart::band() const {
  if (trend_.band.empty()) return {};
  std::string there, back, middle;
  for (const BandPoint& at : trend_.band) {
    there += point(at.time, at.low);
    back.insert(0, point(at.time, at.high));
    middle += point(at.time, at.bytes);
  }
  return fmt::format("<polygon class=\"b\" points=\"{}{}\"/>\n<polyline class=\"d\" points=\"{}\"/>\n", there,
                     back, middle);
}

std::string MemoryChart::curve() const {
  std::string curve, floor;
  for (const size_t i : kept_)
    if (const RunReader::Memory& row = data_.memory[i]; footprint(row) >= 0)
      curve += point(row.time, double(footprint(row)));
  for (const verdict::FloorPoint& at : trend_.floor) floor += point(at.time, at.bytes);
  return fmt::format("<polyline class=\"c\" points=\"{}\"/>\n<polyline class=\"f\" points=\"{}\"/>\n", curve,
                     floor);
}

std::string MemoryChart::spikes() const {
  std::string svg;
  for (const verdict::SpikePoint& spike : trend_.spikes)
    svg += fmt::format("<path class=\"m\" d=\"M{0:.1f} {1:.1f}l-4 -6h8z\"><title>+{2}</title></path>\n",
                       x(spike.time), y(spike.bytes) - 4, format_bytes(uint64_t(spike.height)));
  return svg;
}

std::string MemoryChart::line() const {
  if (!line_near_) return {};
  return fmt::format(
      "<line class=\"l\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"lt\" x=\"{}\" "
      "y=\"{:.1f}\">the "
      "line: {}</text>\n",
      left, width - right, y(data_.line), y(data_.line), left + 8, y(data_.line) - 6,
      format_bytes(uint64_t(data_.line)));
}

std::string MemoryChart::svg() const {
  return head() + phases() + axes() + band() + curve() + spikes() + line() + "</svg>\n";
}

}  // namespace

std::string memory_svg(const RunData& data) { return MemoryChart(data).svg(); }

}  // namespace plimsoll::report
