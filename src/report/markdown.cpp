// The summary as Markdown, and every memory sample as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.hpp"
#include "report/compare.hpp"
#include "report/memory_parts.hpp"
#include "report/process_stack.hpp"
#include "report/shown_text.hpp"
#include "report/text.hpp"

namespace plimsoll::report {
namespace {

// Text in Markdown, also inside a table: nothing in it is markup or HTML.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else {
      if (std::string_view("\\`*_[]#|>~$!").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string bytes(double value) { return format_bytes(uint64_t(std::max(0., value))); }

std::string figures(const RunData& data) {
  if (!data.judgement) return "";
  const verdict::Verdict& verdict = data.judgement->verdict;
  double peak = 0;
  for (const RunReader::Memory& row : data.memory) peak = std::max(peak, double(footprint(row)));
  std::string out = "| | |\n|---|---|\n";
  out += fmt::format("| floor, begin and end | {} / {} |\n", bytes(verdict.floor_start),
                     bytes(verdict.floor_end));
  out += fmt::format("| peak | {} |\n", bytes(peak));
  out += fmt::format("| rate, 95 % interval | {:.0f} bytes a second ({:.0f} to {:.0f}) |\n", verdict.rate,
                     verdict.rate_low, verdict.rate_high);
  if (data.line > 0) out += fmt::format("| the line | {} |\n", bytes(data.line));
  if (verdict.seconds_to_limit)
    out += fmt::format("| time to the line | {} |\n", format_duration(*verdict.seconds_to_limit));
  out += fmt::format("| samples | {} |\n", format_count(data.memory.size()));
  if (const double speed = speed_of(data); std::isfinite(speed))
    out += fmt::format("| steps a second | {:.4g} |\n", speed);
  if (!data.evaluations.empty() && std::isfinite(data.evaluations.back().loss))
    out += fmt::format("| validation loss | {:.4f} |\n", data.evaluations.back().loss);
  for (const MemoryPart& part : memory_parts(data))
    out += fmt::format("| memory: {} | {} |\n", plain(part.name), bytes(double(part.bytes)));
  return out;
}

std::string process_table(const RunData& data) {
  ProcessStack stack = stack_processes(data, 32, 2);
  if (stack.shown.empty()) return "";
  std::stable_sort(stack.shown.begin(), stack.shown.end(), [](auto& a, auto& b) { return a.peak > b.peak; });
  std::string out =
      "\n## Processes\n| process | role | pid | last | peak | command |\n|---|---|---|---|---|---|\n";
  for (const ProcessFigures& one : stack.shown)
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", plain(shown(one.process->name)),
                       plain(shown(one.process->role)), one.process->pid, bytes(double(one.last)),
                       bytes(double(one.peak)), plain(shown(one.process->arguments)));
  if (stack.others) out += fmt::format("\nand {} more.\n", stack.others);
  return out;
}

std::string site_table(const RunData& data) {
  if (data.sites.empty()) return "";
  std::string out = "\n## Call sites\n| site | holds | grows, bytes a second |\n|---|---|---|\n";
  for (size_t i = 0; i < std::min<size_t>(data.sites.size(), 20); ++i) {
    out += fmt::format(
        "| {} | {} | {} |\n", plain(shown(named_frame(data.sites[i]))), bytes(double(data.sites[i].bytes)),
        std::isfinite(data.sites[i].bytes_per_second) ? fmt::format("{:.0f}", data.sites[i].bytes_per_second)
                                                      : "");
  }
  std::set<std::string> hints;
  for (const auto& site : data.sites)
    if (!site.hint.empty() && hints.size() < 5 && hints.insert(site.hint).second)
      out += fmt::format("\nWhat to try: {}.\n", plain(shown(site.hint)));
  return out;
}

std::string settings(const RunData& data) {
  std::string out = "\n## Configuration\n| | |\n|---|---|\n";
  for (const auto& [key, value] : data.configuration)
    out += fmt::format("| {} | {} |\n", plain(shown(key)), plain(shown_value(key, value)));
  return out + fmt::format("| machine | {} |\n| plimsoll | {} |\n", plain(shown(data.run.machine)),
                           plain(shown(data.run.version)));
}

}  // namespace

std::string markdown(const RunData& data) {
  return fmt::format("# {}\n\n**{}**\n\n", plain(headline(data)), plain(sentence_of(data))) + figures(data) +
         process_table(data) + site_table(data) + settings(data);
}

std::string markdown_comparison(const RunData& a, const RunData& b) {
  const auto one = [](const char* label, const RunData& data) {
    return fmt::format("\n## {}: {}\n\n{}\n\n", label, plain(headline(data)), plain(sentence_of(data))) +
           figures(data);
  };
  return fmt::format("# {} and {}\n\n**{}**\n", plain(shown(a.name)), plain(shown(b.name)),
                     plain(compare(a, b).sentence)) +
         one("A", a) + one("B", b);
}

std::string memory_csv(const RunData& data) {
  // Quoted where it must be; a text that a spreadsheet would take for a formula gets an apostrophe.
  const auto text = [](const std::string& value) {
    std::string out = shown(value);
    if (!out.empty() && std::string_view("=+-@").find(out[0]) != std::string_view::npos) out.insert(0, "'");
    if (out.find_first_of(",\"") == out.npos) return out;
    std::string quoted = "\"";
    for (const char c : out) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  };
  const auto count = [](int64_t value) { return value < 0 ? std::string() : std::to_string(value); };
  std::string out =
      "time,bytes,rss,pss,private,shared,swap,processes,limit,available,gpu,pressure,step,phase\n";
  for (const RunReader::Memory& row : data.memory) {
    out +=
        fmt::format("{:.6f},{},{},{},{},{},{},{},{},{},{},", row.time, count(footprint(row)), count(row.rss),
                    count(row.pss), count(row.private_bytes), count(row.shared), count(row.swap),
                    count(row.processes), count(row.limit), count(row.available), count(row.gpu));
    if (std::isfinite(row.pressure)) out += fmt::format("{}", row.pressure);
    out += fmt::format(",{},{}\n", count(row.step), text(row.phase));
  }
  return out;
}

}  // namespace plimsoll::report
