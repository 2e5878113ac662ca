#include "diagnose/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/mask.hpp"
#include "base/units.hpp"
#include "diagnose/hints.hpp"

namespace plimsoll::diagnose {
namespace {

void call_leak(verdict::Verdict& tree, const Site& site, const std::string& reason) {
  const verdict::Verdict& own = site.verdict;
  const double lasted = site.held.empty() ? 0 : site.held.back().time - site.held.front().time;
  if (tree.judged_until <= tree.judged_from && lasted > 0) {  // of the tree too little was seen
    tree.judged_from = site.held.front().time, tree.judged_until = site.held.back().time;
    tree.floor_start = std::max(0.0, tree.floor_end - site.grown);
  }
  tree.kind = verdict::Kind::leak;
  tree.growing = true;
  tree.rate = site.rate > 0 ? site.rate : lasted > 0 ? site.grown / lasted : 0;
  const bool judged = own.rate_high > 0;  // by its own series, not only by epochs
  tree.rate_low = judged ? std::clamp(own.rate_low, 0.0, tree.rate) : 0;
  tree.rate_high = judged ? std::max(own.rate_high, tree.rate) : 2 * tree.rate;
  tree.rate_per_step.reset();
  tree.onset = own.onset;
  // What epochs tell of a line is worth no less than a series needs to be called a leak.
  tree.evidence = std::max(own.evidence, verdict::Options().evidence);
  tree.confidence = 1 / (1 + std::exp(-tree.evidence));
  tree.needs_seconds = 0;
  tree.seconds_to_limit.reset();
  if (tree.limit_bytes > tree.floor_end && tree.rate > 0)
    tree.seconds_to_limit = (tree.limit_bytes - tree.floor_end) / tree.rate;
  tree.sentence =
      fmt::format("Leak: {}, {} more per second.", escape(reason), format_bytes(uint64_t(tree.rate)));
}

// The process that holds the line, where it is one.
void blame_holder(Judgement& judgement, const History& history, const Site& site) {
  if (site.pids.size() != 1) return;
  const Lifetime* holder = nullptr;  // the last that had this number
  for (const auto& [id, life] : history.processes())
    if (id.pid == site.pids.front() && (!holder || id.start_ticks > holder->id.start_ticks)) holder = &life;
  if (!holder) return;
  const auto role = judgement.roles.role.find(holder->id);
  judgement.culprit_id = holder->id;
  judgement.culprit = {
      .pid = holder->id.pid,
      .name = escape(holder->name),
      .role = role_name(role == judgement.roles.role.end() ? ProcessRole::other : role->second),
      .rate = judgement.verdict.rate};
}

}  // namespace

void adopt(Answered answered, double sample_bytes, SiteReport& report) {
  report.answer = answered.answer;
  report.reason = std::move(answered.reason);
  report.answer_site = answered.line;
  if (report.answer == Answer::filling || report.answer == Answer::retained ||
      report.answer == Answer::no_leak)
    for (Site& site : report.sites)  // what grows in such a program is not accused on its own
      if (site.verdict.kind == verdict::Kind::leak) site.verdict.kind = verdict::Kind::undecided;
  if (report.answer != Answer::leak || !answered.line) return;
  Site& site = report.sites[*answered.line];
  const double lasted = site.held.empty() ? 0 : site.held.back().time - site.held.front().time;
  if (site.rate <= 0 && lasted > 0) site.rate = site.grown / lasted;
  if (site.rate > 0 && site.hint.empty()) site.hint = hint_for(site, sample_bytes);
  site.verdict.kind = verdict::Kind::leak;
  const std::string name = site.place.text();
  const Content content = site.content;
  put_in_order(report);
  const auto found = std::find_if(report.sites.begin(), report.sites.end(), [&](const Site& one) {
    return one.place.text() == name && one.content == content;
  });
  report.answer_site = size_t(found - report.sites.begin());
}

void join(verdict::Verdict& tree, const SiteReport& report) {
  const bool leak = tree.kind == verdict::Kind::leak;
  if (report.answer == Answer::leak && !leak && report.answer_site) {
    call_leak(tree, report.sites[*report.answer_site], report.reason);
  } else if ((leak && report.answer != Answer::leak && report.answer != Answer::undecided) ||
             (tree.kind == verdict::Kind::undecided && report.answer == Answer::no_leak)) {
    tree.kind = report.answer == Answer::filling ? verdict::Kind::undecided : verdict::Kind::no_leak;
    tree.seconds_to_limit.reset();
    tree.needs_seconds = 0;
    tree.sentence = fmt::format(
        "{}{}.", report.answer == Answer::filling ? "Growing: " : "No leak: ", escape(report.reason));
  }
}

void join(Judgement& judgement, const History& history, const SiteReport& report) {
  join(judgement.verdict, report);
  if (judgement.verdict.kind == verdict::Kind::no_leak) {
    judgement.culprit.reset();
    judgement.next.clear();
    return;
  }
  if (judgement.verdict.kind == verdict::Kind::leak && !judgement.culprit && report.answer_site)
    blame_holder(judgement, history, report.sites[*report.answer_site]);
  judgement.next = next_with_sites(report);
}

}  // namespace plimsoll::diagnose
