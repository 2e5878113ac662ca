#include "report/sites_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/mask.hpp"
#include "base/units.hpp"

namespace plimsoll::report {
namespace {

constexpr size_t most_lines = 8;

std::string name_of(const diagnose::Place& place) {
  std::string where = place.file;
  // The last two parts of the path tell enough in a line of text; the JSON has all of it.
  if (const size_t slash = where.rfind('/'); slash != where.npos && slash > 0)
    if (const size_t before = where.rfind('/', slash - 1); before != where.npos) where.erase(0, before + 1);
  if (place.line) where += fmt::format(":{}", place.line);
  if (!place.function.empty()) where += " in " + place.function;
  return escape(where.substr(0, 160));
}

std::string line_of(const diagnose::Site& site) {
  return fmt::format("{}{}{}", name_of(site.place), site.source.empty() ? "" : ": ", escape(site.source));
}

std::string blocks_of(const diagnose::Site& site) {
  return fmt::format("{} block{}, oldest {}{}", format_count(site.blocks), site.blocks == 1 ? "" : "s",
                     format_duration(site.oldest_seconds), site.none_freed ? ", none freed" : "");
}

std::string processes_of(const diagnose::Site& site) {
  return site.pids.size() == 1 ? fmt::format("process {}", site.pids.front())
                               : fmt::format("{} processes, most in {}", site.pids.size(), site.pids.front());
}

std::string memory_table(const diagnose::HeldMemory& memory) {
  std::string text = fmt::format("where the memory is ({} in all):\n", format_bytes(memory.pss));
  const uint64_t rest = memory.other - memory.unprofiled - memory.unseen;
  const std::pair<const char*, uint64_t> rows[] = {{"live heap", memory.live_heap},
                                                   {"kept by the allocator", memory.retained},
                                                   {"mapped files", memory.mapped_file},
                                                   {"shared memory", memory.shared},
                                                   {"stacks", memory.stack},
                                                   {"of processes without a heap file", memory.unprofiled},
                                                   {"not from malloc", memory.unseen},
                                                   {"other", rest}};
  for (const auto& [name, bytes] : rows)
    if (bytes > 0)
      text += fmt::format("  {:>9}  {:>3.0f} %  {}\n", format_bytes(bytes),
                          100 * double(bytes) / double(memory.pss), name);
  // Samples say what is asked for to a few percent only.
  if (memory.untouched > memory.live_heap / 10)
    text += fmt::format("  about {} was asked for and never touched: lines count it, it takes no memory\n",
                        format_bytes(memory.untouched));
  return text;
}

std::string outside_text(const diagnose::Outside& outside) {
  std::string text =
      outside.woken
          ? fmt::format(
                "attached: woke the preloaded library in {} process{}; lines hold what was allocated since\n",
                outside.woken, outside.woken == 1 ? "" : "es")
          : "attached: no preloaded library sleeps in the program, and nothing was put into it; seen from "
            "outside:\n";
  for (const diagnose::GrownMapping& mapping : outside.mappings())
    if (mapping.grown != 0)
      text += fmt::format("  {}{:>9}  {}\n", mapping.grown > 0 ? "+" : "-",
                          format_bytes(uint64_t(std::llabs(mapping.grown))), mapping.kind);
  if (const auto& malloc = outside.malloc())
    text += fmt::format("malloc of glibc: {} in {} arena{}, {}{} of that free ({} at first)\n",
                        format_bytes(malloc->last.system), malloc->last.arenas,
                        malloc->last.arenas == 1 ? "" : "s", malloc->last.complete ? "" : "at least ",
                        format_bytes(malloc->last.free), format_bytes(malloc->first.free));
  else
    text +=
        "malloc of glibc: its figures cannot be read; another allocator, a static program, or not "
        "permitted\n";
  const auto lines = outside.lines();
  for (size_t i = 0; i < std::min<size_t>(lines.size(), 5); ++i) {
    if (i == 0) text += "lines of Python that ran when it had grown (a hint, no proof):\n";
    const diagnose::RunningLine& line = lines[i];
    text +=
        fmt::format("  {:>9}  {}, seen {} times\n", format_bytes(uint64_t(line.grown)),
                    name_of({line.file, line.function, line.line, true, false}), format_count(line.looks));
  }
  return text;
}

}  // namespace

std::string first_sight(const diagnose::SiteReport& report, const std::string& sentence) {
  if (report.answer != diagnose::Answer::leak && report.answer != diagnose::Answer::undecided)
    return fmt::format("{}: {}", diagnose::answer_name(report.answer), escape(report.reason));
  const size_t first = report.answer_site.value_or(0);
  if (first >= report.sites.size() || report.sites[first].share <= 0) return sentence;
  const diagnose::Site& site = report.sites[first];
  return fmt::format("{} {:.0f} % of the growth is at {}", sentence, 100 * site.share, line_of(site));
}

std::string growing_line(const diagnose::SiteReport& report) {
  if (report.sites.empty() || report.sites.front().rate <= 0) return {};
  return line_of(report.sites.front());
}

std::string grown_line(const diagnose::SiteReport& report, double since) {
  const diagnose::Grown most = diagnose::grown_most(report, since);
  if (!most.site) return {};
  return fmt::format("{} (+{}, {})", line_of(*most.site), format_bytes(uint64_t(most.bytes)),
                     processes_of(*most.site));
}

std::string sites_text(const diagnose::SiteReport& report) {
  std::string text =
      fmt::format("answer: {}: {}\n", diagnose::answer_name(report.answer), escape(report.reason));
  if (report.memory) text += memory_table(*report.memory);
  if (report.outside) text += outside_text(*report.outside);
  if (report.outside && report.outside->woken == 0) return text;
  return text + lines_text(report);
}

std::string lines_text(const diagnose::SiteReport& report, bool named) {
  std::string text, hint;
  size_t shown = 0;
  for (const diagnose::Site& site : report.sites) {
    if (site.rate <= 0 || shown == most_lines) break;
    if (shown++ == 0) text += "lines that hold more and more:\n";
    text += fmt::format("  {:>3.0f} %  {}/min  {}  [{}]\n", 100 * site.share,
                        format_bytes(uint64_t(60 * site.rate)), name_of(site.place),
                        verdict::kind_name(site.verdict.kind));
    if (!site.source.empty()) text += fmt::format("         {}\n", escape(site.source));
    text += fmt::format("         holds {} in {}, {}\n", format_bytes(site.bytes), blocks_of(site),
                        processes_of(site));
    if (!site.hint.empty() && site.hint != hint)
      text += fmt::format("         What to try: {}.\n", escape(site.hint));
    hint = site.hint;
  }
  if (shown == 0 && !report.sites.empty()) {
    auto largest = report.sites;
    std::sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    const bool gained = report.answer == diagnose::Answer::undecided && report.answer_site;
    text += named || gained ? "lines that hold most:\n" : "no line was seen to grow; the largest:\n";
    for (size_t i = 0; i < std::min<size_t>(largest.size(), 5); ++i)
      text += fmt::format("  {:>9}  {}\n", format_bytes(largest[i].bytes), name_of(largest[i].place));
  }
  for (const std::string& note : report.notes) text += "note: " + escape(note) + "\n";
  return text;
}

nlohmann::ordered_json sites_json(const diagnose::SiteReport& report) {
  using Json = nlohmann::ordered_json;
  Json sites = Json::array();
  for (const diagnose::Site& site : report.sites) {
    Json stack = Json::array();
    for (const diagnose::Place& place : site.stack) stack.push_back(escape(place.text()));
    sites.push_back({{"file", escape(site.place.file)},
                     {"line", site.place.line ? Json(site.place.line) : Json(nullptr)},
                     {"function", escape(site.place.function)},
                     {"language", site.place.python ? "python" : "native"},
                     {"source", escape(site.source)},
                     {"bytes", site.bytes},
                     {"blocks", site.blocks},
                     {"grown_bytes", uint64_t(site.grown)},
                     {"bytes_per_second", site.rate},
                     {"share", site.share},
                     {"verdict", verdict::kind_name(site.verdict.kind)},
                     {"hint", site.hint.empty() ? Json(nullptr) : Json(escape(site.hint))},
                     {"oldest_seconds", site.oldest_seconds},
                     {"none_freed", site.none_freed},
                     {"pid", site.pids.front()},
                     {"processes", site.pids.size()},
                     {"stack", std::move(stack)}});
  }
  return sites;
}

static nlohmann::ordered_json malloc_json(const std::optional<diagnose::Outside::Malloc>& malloc) {
  if (!malloc) return nullptr;
  return {{"arenas", malloc->last.arenas},
          {"system_bytes", malloc->last.system},
          {"free_bytes", malloc->last.free},
          {"free_grown_bytes", int64_t(malloc->last.free) - int64_t(malloc->first.free)},
          {"complete", malloc->last.complete}};
}

void add_sites(nlohmann::ordered_json& json, const diagnose::SiteReport& report) {
  json["answer"] = diagnose::answer_name(report.answer);
  json["answer_reason"] = escape(report.reason);
  json["sites"] = sites_json(report);
  json["live_bytes"] = report.live_bytes;
  if (report.outside) {
    using Json = nlohmann::ordered_json;
    Json mappings = Json::array(), running = Json::array();
    for (const diagnose::GrownMapping& mapping : report.outside->mappings())
      mappings.push_back({{"kind", mapping.kind}, {"bytes", mapping.bytes}, {"grown_bytes", mapping.grown}});
    const auto lines = report.outside->lines();
    for (size_t i = 0; i < std::min<size_t>(lines.size(), 20); ++i)
      running.push_back({{"file", escape(lines[i].file)},
                         {"line", lines[i].line},
                         {"function", escape(lines[i].function)},
                         {"looks", lines[i].looks},
                         {"grown_bytes", uint64_t(lines[i].grown)}});
    json["attached"] = {{"way", report.outside->woken ? "preload" : "outside"},
                        {"woken", report.outside->woken},
                        {"mappings", std::move(mappings)},
                        {"malloc", malloc_json(report.outside->malloc())},
                        {"running", std::move(running)}};
  }
  if (report.memory)
    json["memory"] = {{"live_heap_bytes", report.memory->live_heap},
                      {"retained_bytes", report.memory->retained},
                      {"mapped_file_bytes", report.memory->mapped_file},
                      {"shared_bytes", report.memory->shared},
                      {"stack_bytes", report.memory->stack},
                      {"other_bytes", report.memory->other},
                      {"pss_bytes", report.memory->pss}};
  else
    json["memory"] = nullptr;
}

}  // namespace plimsoll::report
