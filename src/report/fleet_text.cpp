// A fleet in the terminal, as Markdown and as JSON, and the list of a folder's runs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "report/fleet.hpp"
#include "report/shown_text.hpp"

namespace plimsoll::report {
namespace {

std::string bytes_or_dash(double value) {
  return std::isfinite(value) ? format_bytes(uint64_t(std::max(0., value))) : "-";
}

std::string growth_text(const Member& member) {
  if (!member.judged || member.verdict.kind != verdict::Kind::leak) return "-";
  const auto& v = member.verdict;
  return v.rate_per_step
             ? fmt::format("{} per {}", format_bytes(uint64_t(*v.rate_per_step)), shown(v.step_unit))
             : fmt::format("{} per minute", format_bytes(uint64_t(v.rate * 60)));
}

std::string verdict_word(const Member& member) {
  return !member.unread.empty() ? "unreadable"
         : member.judged        ? verdict::kind_name(member.verdict.kind)
                                : "not judged";
}

// By characters, not bytes.
std::string cut(const std::string& text, size_t columns) {
  std::string out;
  size_t used = 0;
  for (char c : text) {
    if ((c & 0xc0) != 0x80 && ++used > columns) break;
    out += c;
  }
  return out;
}

}  // namespace

std::string fleet_terminal(const Fleet& fleet, const TerminalOptions& options, size_t most_rows) {
  std::string out = fleet.sentence + "\n\n";
  out += fmt::format("{:<28} {:<10} {:>10} {:>10}  {}\n", "run", "verdict", "floor", "peak", "growth");
  const auto order = worst_first(fleet);
  for (size_t i = 0; i < std::min(order.size(), most_rows); ++i)
    out += cut(fmt::format("{:<28} {:<10} {:>10} {:>10}  {}", cut(order[i]->name, 28),
                           verdict_word(*order[i]), bytes_or_dash(order[i]->floor),
                           bytes_or_dash(order[i]->peak), growth_text(*order[i])),
               options.columns) +
           "\n";
  if (order.size() > most_rows) out += fmt::format("and {} more\n", order.size() - most_rows);
  return out;
}

std::string fleet_markdown(const Fleet& fleet) {
  std::string out = fmt::format(
      "**{}**\n\n| run | verdict | floor | peak | growth |\n|---|---|---|---|---|\n", fleet.sentence);
  for (const Member* member : worst_first(fleet)) {
    std::string name = member->name;
    for (size_t at = 0; (at = name.find('|', at)) != name.npos; at += 2) name.insert(at, "\\");
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name, verdict_word(*member),
                       bytes_or_dash(member->floor), bytes_or_dash(member->peak), growth_text(*member));
  }
  return out;
}

std::string fleet_json(const Fleet& fleet) {
  using Json = nlohmann::ordered_json;
  const auto known = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json out = {{"runs", fleet.members.size()},
              {"leaks", fleet.leaks},
              {"judged", fleet.judged},
              {"unreadable", fleet.unread},
              {"sentence", fleet.sentence},
              {"worst", fleet.members.empty() ? Json(nullptr) : Json(fleet.members[fleet.worst].name)},
              {"median_floor_bytes", known(fleet.median_floor)},
              {"skew", known(fleet.skew)},
              {"members", Json::array()}};
  for (const Member* m : worst_first(fleet))
    out["members"].push_back({{"name", m->name},
                              {"file", shown(m->path)},
                              {"rank", m->rank < 0 ? Json(nullptr) : Json(m->rank)},
                              {"node", m->node},
                              {"job", m->job},
                              {"model", m->model},
                              {"started", m->started},
                              {"verdict", verdict_word(*m)},
                              {"floor_bytes", known(m->floor)},
                              {"peak_bytes", known(m->peak)},
                              {"rate_bytes_per_second", m->judged ? known(m->verdict.rate) : Json(nullptr)},
                              {"loss", known(m->loss)},
                              {"steps_per_second", known(m->speed)},
                              {"error", m->unread.empty() ? Json(nullptr) : Json(m->unread)}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string runs_table(const Fleet& fleet) {
  std::vector<const Member*> order;
  for (const Member& member : fleet.members) order.push_back(&member);
  std::stable_sort(order.begin(), order.end(),
                   [](const Member* a, const Member* b) { return a->started > b->started; });
  std::string out = fmt::format("{:<24} {:<14} {:>8} {:>10} {:<10} {}\n", "run", "model", "loss", "peak",
                                "verdict", "started");
  for (const Member* m : order)
    out += fmt::format("{:<24} {:<14} {:>8} {:>10} {:<10} {}\n", cut(m->name, 24), cut(m->model, 14),
                       std::isfinite(m->loss) ? fmt::format("{:.4f}", m->loss) : "-", bytes_or_dash(m->peak),
                       verdict_word(*m), m->unread.empty() ? m->started : m->unread);
  return out;
}

}  // namespace plimsoll::report
