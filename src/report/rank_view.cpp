#include "report/rank_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/shown_text.hpp"

namespace plimsoll::report {
namespace {

// More ranks than any machine has; a record may be anybody's.
constexpr int64_t largest_rank_count = 1'000'000;
constexpr double waits_noticeably = 0.05;  // of a step

double highest(double a, double b) { return std::isnan(a) || b > a ? b : a; }

double median_of_known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return unknown_real;
  const auto middle = values.begin() + std::ptrdiff_t((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> each(const std::vector<RankRow>& rows, double RankRow::*measure) {
  std::vector<double> values;
  for (const RankRow& row : rows) values.push_back(row.*measure);
  return values;
}

// "rank.3.node" -> 3, "node"
void read_setting(std::map<int64_t, RankRow>& rows, const std::string& key, const std::string& value) {
  constexpr std::string_view prefix = "rank.";
  if (!key.starts_with(prefix)) return;
  const size_t dot = key.find('.', prefix.size());
  if (dot == std::string::npos) return;
  const auto rank = text::number<int64_t>(std::string_view(key).substr(prefix.size(), dot - prefix.size()));
  const auto row = rank ? rows.find(*rank) : rows.end();
  if (row == rows.end()) return;
  const std::string_view what = std::string_view(key).substr(dot + 1);
  if (what == "node") row->second.node = shown(value);
  if (what == "plan_bytes") row->second.plan = double(text::number<int64_t>(value).value_or(0));
  if (what == "peak_rss_bytes")
    row->second.peak = highest(row->second.peak, double(text::number<int64_t>(value).value_or(0)));
}

std::string leak_of(const RankRow& row) {
  const verdict::Verdict& v = row.verdict;
  return fmt::format("{} leaks: {}", row.name(),
                     v.rate_per_step ? fmt::format("{} per step", format_bytes(uint64_t(*v.rate_per_step)))
                                     : fmt::format("{} per minute", format_bytes(uint64_t(v.rate * 60))));
}

std::string sentence_of_ranks(const RankView& view) {
  const size_t all = view.rows.size();
  std::string said;
  if (view.leaks > 0) {
    said = leak_of(view.rows[view.worst]);
    said[0] = 'R';
    said += view.leaks == 1 ? fmt::format("; the other {} do not.", all - 1)
                            : fmt::format("; {} of {} ranks leak.", view.leaks, all);
  } else {
    said = fmt::format("{} ranks.", all);
  }
  const RankRow& top = *std::max_element(
      view.rows.begin(), view.rows.end(),
      [](const auto& a, const auto& b) { return std::fmax(a.peak, 0) < std::fmax(b.peak, 0); });
  if (std::isfinite(view.skew))
    said += fmt::format(" Peak: {} at the median, {} at {} (+{:.0f} %).",
                        format_bytes(uint64_t(view.median_peak)), format_bytes(uint64_t(top.peak)),
                        top.name(), 100 * view.skew);
  const double waited = median_of_known(each(view.rows, &RankRow::waiting_seconds));
  const RankRow& slowest = view.rows[view.slowest];
  if (waited - slowest.waiting_seconds > waits_noticeably * slowest.step_seconds)
    said += fmt::format(" The others wait for {}: {:.1f} ms of a step of {:.1f} ms.", slowest.name(),
                        (waited - slowest.waiting_seconds) * 1e3, slowest.step_seconds * 1e3);
  return said;
}

}  // namespace

std::string RankRow::name() const {
  return fmt::format("rank {}{}", rank, node.empty() ? "" : " on " + node);
}

RankView view_ranks(const RunRows& run, bool judge, double line) {
  RankView view;
  std::map<int64_t, RankRow> rows;
  struct Seen {
    std::vector<verdict::Sample> samples;
    std::vector<verdict::StepMark> steps;
  };
  std::map<int64_t, Seen> series;
  const double begin = run.session_begin();
  for (const RankSampleRow& sample : run.rank_samples) {
    if (sample.rank < 0 || sample.rank >= largest_rank_count) continue;
    RankRow& row = rows[sample.rank];
    row.rank = sample.rank;
    if (sample.rss >= 0) {
      const double bytes = double(sample.rss);
      if (std::isnan(row.first)) row.first = bytes;
      row.last = bytes, row.peak = highest(row.peak, bytes);
    }
    row.step_seconds = sample.step_seconds, row.waiting_seconds = sample.waiting_seconds;
    row.exchange_seconds = sample.exchange_seconds;
    if (!judge || sample.rss < 0 || sample.time < begin) continue;
    Seen& seen = series[sample.rank];
    if (!seen.steps.empty() && double(sample.step) <= seen.steps.back().step) continue;
    seen.samples.push_back({sample.time, double(sample.rss)});
    seen.steps.push_back({sample.time, double(sample.step)});
  }
  if (rows.size() < 2) return view;
  for (const auto& [key, value] : run.configuration) read_setting(rows, key, value);
  for (auto& [rank, row] : rows) {
    if (const auto seen = series.find(rank); seen != series.end() && seen->second.samples.size() > 2) {
      row.judged = true;
      row.verdict = verdict::judge(seen->second.samples,
                                   {.limit_bytes = line, .steps = seen->second.steps, .ended = true});
      view.leaks += row.verdict.kind == verdict::Kind::leak;
    }
    view.rows.push_back(std::move(row));
  }
  const auto weight = [](const RankRow& row) {
    const bool leak = row.judged && row.verdict.kind == verdict::Kind::leak;
    return std::pair(leak ? row.verdict.rate : -1, std::isfinite(row.peak) ? row.peak : -1);
  };
  const auto patience = [](const RankRow& row) {
    return std::isfinite(row.waiting_seconds) ? row.waiting_seconds : std::numeric_limits<double>::infinity();
  };
  const auto at = [&](auto found) { return size_t(found - view.rows.begin()); };
  view.worst = at(std::max_element(view.rows.begin(), view.rows.end(),
                                   [&](const auto& a, const auto& b) { return weight(a) < weight(b); }));
  view.slowest = at(std::min_element(view.rows.begin(), view.rows.end(), [&](const auto& a, const auto& b) {
    return patience(a) < patience(b);
  }));
  view.median_peak = median_of_known(each(view.rows, &RankRow::peak));
  double top = unknown_real;
  for (const RankRow& row : view.rows) top = highest(top, std::isfinite(row.peak) ? row.peak : top);
  if (view.median_peak > 0) view.skew = top / view.median_peak - 1;
  view.sentence = sentence_of_ranks(view);
  return view;
}

}  // namespace plimsoll::report
