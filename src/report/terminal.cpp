// The summary in a terminal. All text of the record is escaped.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "report/compare.hpp"
#include "report/memory_parts.hpp"
#include "report/plot.hpp"
#include "report/process_stack.hpp"
#include "report/shown_text.hpp"
#include "report/text.hpp"

namespace plimsoll::report {
namespace {

constexpr size_t plot_rows = 8, label_columns = 10, listed_processes = 12;

// Lines of at most `columns`, broken at blanks.
std::string wrapped(const std::string& text, size_t columns) {
  std::string out;
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const size_t word = end - at;
    if (used && used + 1 + word > columns) out += '\n', used = 0;
    if (used) out += ' ', ++used;
    out.append(text, at, word);
    used += word;
    at = std::min(end + 1, text.size());
  }
  return out;
}

// The first `columns` characters, filled up with blanks; what continues a UTF-8 character takes no column.
std::string fitted(const std::string& text, size_t columns, bool fill = true) {
  size_t end = 0, used = 0;
  for (; end < text.size(); ++end) {
    if ((text[end] & 0xc0) != 0x80 && used++ == columns) break;
  }
  return text.substr(0, end) + std::string(fill && used < columns ? columns - used : 0, ' ');
}

std::string verdict_text(const RunData& data, const TerminalOptions& options) {
  using verdict::Kind;
  std::string text = wrapped(sentence_of(data), options.columns);
  if (!options.colour || !data.judgement) return text;
  const Kind kind = data.judgement->verdict.kind;
  return (kind == Kind::leak      ? "\x1b[31m"
          : kind == Kind::no_leak ? "\x1b[32m"
                                  : "\x1b[33m") +
         text + "\x1b[0m";
}

// One plot with a scale at its left: the top, the middle and the bottom are named.
std::string framed(const std::vector<PlotPoint>& points, double low, double high,
                   const TerminalOptions& options) {
  const size_t width = options.columns > label_columns + 12 ? options.columns - label_columns - 2 : 12;
  const auto lines = plot(points, width, plot_rows, low, high, options.unicode);
  const char* bar = options.unicode ? "│" : "|";
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool named = i == 0 || i + 1 == lines.size() || i == lines.size() / 2;
    const double value = high - (high - low) * double(i) / double(lines.size() - 1);
    std::string line = lines[i];
    line.erase(line.find_last_not_of(' ') + 1);
    out += fmt::format("{:>{}} {}{}\n", named ? format_bytes(uint64_t(std::max(0., value))) : "",
                       label_columns - 1, bar, line);
  }
  const double start = points.front().time, end = points.back().time;
  const std::string from = format_duration(start), to = format_duration(end);
  out +=
      fmt::format("{:{}}{}{:>{}}\n", "", label_columns + 1, from, to, width - std::min(width, from.size()));
  return out;
}

std::string memory_plot(const RunData& data, const TerminalOptions& options) {
  std::vector<PlotPoint> points;
  double low = 0, high = 0;
  for (const RunReader::Memory& row : data.memory) {
    const double bytes = double(footprint(row));
    if (bytes < 0) continue;
    low = points.empty() ? bytes : std::min(low, bytes), high = std::max(high, bytes);
    points.push_back({row.time, bytes});
  }
  if (points.empty()) return "";
  // From zero where the swing is large; never so close that noise looks like growth.
  if (high - low > .4 * high) low = 0;
  const double least = .08 * high;
  if (high - low < least) {
    const double middle = (high + low) / 2;
    low = std::max(0., middle - least / 2), high = middle + least / 2;
  }
  const bool pss =
      std::any_of(data.memory.begin(), data.memory.end(), [](auto& row) { return row.pss >= 0; });
  return fmt::format("\nMemory ({})\n", pss ? "PSS of the tree" : "RSS") + framed(points, low, high, options);
}

std::string processes(const RunData& data, const TerminalOptions& options) {
  const ProcessStack stack = stack_processes(data, listed_processes, 60);
  if (stack.shown.empty()) return "";
  std::vector<size_t> order(stack.shown.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return stack.shown[a].peak > stack.shown[b].peak; });
  std::string out =
      fmt::format("\n{:>8}  {:<12} {:>9} {:>9} {:>10}  {}\n", "PID", "role", "last", "peak", "change", "");
  for (const size_t i : order) {
    const ProcessFigures& one = stack.shown[i];
    std::vector<double> values;
    for (const ProcessStack::Row& row : stack.rows)
      if (row.bytes[i] >= 0) values.push_back(double(row.bytes[i]));
    const int64_t change = one.last - one.first;
    const bool steady = std::abs(change) < std::max<int64_t>(100'000, one.first / 100);
    const std::string moved =
        steady ? "steady" : (change > 0 ? "+" : "-") + format_bytes(uint64_t(std::abs(change)));
    out +=
        fmt::format("{:>8}  {} {:>9} {:>9} {:>10}  ", one.process->pid, fitted(shown(one.process->role), 12),
                    format_bytes(uint64_t(one.last)), format_bytes(uint64_t(one.peak)), moved);
    if (options.columns >= 80) out += fitted(sparkline(values, 12, options.unicode), 12) + "  ";
    out += fitted(shown(one.process->name), options.columns > 80 ? options.columns - 72 : 8, false) + "\n";
  }
  if (stack.others) out += fmt::format("          and {} more\n", stack.others);
  return out;
}

std::string ranks(const RunData& data, const TerminalOptions& options) {
  constexpr size_t most_rows = 16;
  const RankView& view = data.ranks;
  if (view.rows.empty()) return "";
  std::vector<const RankRow*> order = {&view.rows[view.worst]};
  for (const RankRow& row : view.rows)
    if (&row != order.front()) order.push_back(&row);
  const auto bytes = [](double value) {
    return std::isfinite(value) ? format_bytes(uint64_t(std::max(0., value))) : std::string("-");
  };
  const auto milliseconds = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.2f}", value * 1e3) : std::string("-");
  };
  std::string out = "\n" + wrapped(view.sentence, options.columns) + "\n" +
                    fmt::format("{:>6}  {:<12} {:>9} {:>9} {:>9} {:>10} {:>9}\n", "rank", "node", "plan",
                                "last", "peak", "waits (ms)", "exchange");
  for (size_t i = 0; i < std::min(order.size(), most_rows); ++i)
    out +=
        fmt::format("{:>6}  {} {:>9} {:>9} {:>9} {:>10} {:>9}\n", order[i]->rank, fitted(order[i]->node, 12),
                    bytes(order[i]->plan), bytes(order[i]->last), bytes(order[i]->peak),
                    milliseconds(order[i]->waiting_seconds), milliseconds(order[i]->exchange_seconds));
  if (order.size() > most_rows) out += fmt::format("        and {} more\n", order.size() - most_rows);
  return out;
}

std::string training(const RunData& data, const TerminalOptions& options) {
  const auto series = [&](const char* name, auto value, auto text) -> std::string {
    std::vector<double> values;
    for (const StepRow& row : data.steps)
      if (std::isfinite(value(row))) values.push_back(value(row));
    if (values.empty()) return "";
    const size_t width = options.columns > 40 ? std::min<size_t>(options.columns - 40, 60) : 0;
    return fmt::format("{:<12} {:>12} {} {}\n", name, text(values.front()),
                       sparkline(values, width, options.unicode), text(values.back()));
  };
  std::string out;
  out += series(
      "loss", [](auto& row) { return row.loss; }, [](double v) { return fmt::format("{:.4f}", v); });
  out += series(
      "tokens/s", [](auto& row) { return row.tokens_per_second; },
      [](double v) { return format_count(uint64_t(std::max(0., v))); });
  out += series(
      "step", [](auto& row) { return 1 / row.iterations_per_second; },
      [](double v) { return fmt::format("{:.2f} ms", v * 1e3); });
  if (!data.evaluations.empty() && std::isfinite(data.evaluations.back().loss)) {
    out += fmt::format("validation   {:>12.4f}", data.evaluations.back().loss);
    if (std::isfinite(data.evaluations.back().floor))
      out += fmt::format(" (entropy of the data {:.4f})", data.evaluations.back().floor);
    out += "\n";
  }
  if (const int64_t plan = plan_total(data.plan_roles, data.plan); plan > 0)
    out += fmt::format("plan         {:>12} in {} values\n", format_bytes(uint64_t(plan)), data.plan.size());
  if (const std::string sum = memory_sum(data); !sum.empty()) out += wrapped(sum, options.columns) + "\n";
  return out.empty() ? out : "\n" + out;
}

std::string events(const RunData& data, const TerminalOptions& options) {
  std::string out;
  std::vector<RunReader::Event> all = data.events;
  std::erase_if(all,
                [](const auto& event) { return event.kind == "guard-summary"; });  // JSON; a sentence follows
  for (size_t i = all.size() > 10 ? all.size() - 10 : 0; i < all.size(); ++i)
    out += wrapped(
               fmt::format("{} {}: {}", format_duration(all[i].time), shown(all[i].kind), shown(all[i].text)),
               options.columns) +
           "\n";
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string sentence_of(const RunData& data) {
  return data.judgement ? shown_sentence(data.judgement->verdict.sentence)
                        : "No verdict: there are no memory samples to judge.";
}

std::string headline(const RunData& data) {
  std::string name = data.name, kind = "Run";
  for (const char* wanted : {"preset", "model.name", "command"})
    for (const auto& [key, value] : data.configuration)
      if (key == wanted) name = value;
  if (data.run.kind == "train") kind = "Training run";
  if (data.run.kind == "watch") kind = "Watched program";
  if (data.run.kind == "guard") kind = "Guarded program";
  const double length = data.memory.empty() ? 0 : data.memory.back().time;
  return fmt::format("{} {}, started {}, {}", kind, shown(name), shown(data.run.started),
                     format_duration(length));
}

std::string terminal_text(const RunData& data, const TerminalOptions& options) {
  return wrapped(headline(data), options.columns) + "\n" + wrapped(shown(data.run.machine), options.columns) +
         "\n\n" + verdict_text(data, options) + "\n" + memory_plot(data, options) + processes(data, options) +
         ranks(data, options) + training(data, options) + events(data, options);
}

std::string terminal_comparison(const RunData& a, const RunData& b, const TerminalOptions& options) {
  const auto one = [&](const char* label, const RunData& data) {
    return fmt::format("\n{}: {}\n{}\n{}", label, wrapped(headline(data), options.columns - 3),
                       verdict_text(data, options), memory_plot(data, options));
  };
  return wrapped(compare(a, b).sentence, options.columns) + "\n" + one("A", a) + one("B", b);
}

}  // namespace plimsoll::report
