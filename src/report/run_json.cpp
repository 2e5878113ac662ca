#include "report/run_json.hpp"

#include <algorithm>
#include <cctype>

#include "report/compare.hpp"
#include "report/json_text.hpp"
#include "report/memory_parts.hpp"
#include "report/process_stack.hpp"
#include "report/shown_text.hpp"
#include "report/thin.hpp"
#include "report/trend.hpp"

namespace plimsoll::report {
namespace {

// A record may be anybody's, and so may the verdict in it.
verdict::Judgement shown_judgement(verdict::Judgement judgement) {
  verdict::Verdict& v = judgement.verdict;
  v.sentence = shown_sentence(v.sentence);
  v.explanation = shown(v.explanation);
  v.spikes.phase = shown(v.spikes.phase);
  if (judgement.culprit) {
    judgement.culprit->name = shown(judgement.culprit->name);
    judgement.culprit->role = shown(judgement.culprit->role);
  }
  return judgement;
}

// Bounds that keep the page of a run of any length below 1.5 MB.
constexpr size_t memory_stretches = 900, step_stretches = 300, evaluation_stretches = 500;
constexpr size_t stack_stretches = 350, charted_processes = 32;
constexpr size_t most_phases = 1500, most_events = 500, most_plan = 3000, most_roles = 64, most_sites = 400,
                 most_settings = 500, most_ranks = 1000;
constexpr size_t most_pictures = 16, most_answers = 200, largest_thumbnail = 200'000;

class RunText {
 public:
  RunText(const RunData& data, Extent extent)
      : data_(data), extent_(extent), whole_(extent == Extent::whole) {}

  std::string text() {
    json_.open('{');
    if (whole_) head();
    if (extent_ != Extent::increment) judgement();
    if (extent_ != Extent::judgement) {
      memory();
      phases();
      events();
      processes();
      steps();
      evaluations();
      pictures();
      plan();
      sites();
      ranks();
      configuration();
    }
    return json_.close('}').take();
  }

 private:
  // Opens a table and its first rows; `row(i)` writes the cells of row i.
  template <typename Rows, typename Row>
  void table(const char* name, const std::vector<std::string>& columns, const Rows& rows, Row row) {
    json_.key(name).open('{');
    cells(columns, rows, row);
    json_.close('}');
  }
  template <typename Rows, typename Row>
  void cells(const std::vector<std::string>& columns, const Rows& rows, Row row) {
    json_.key("columns").open('[');
    for (const std::string& column : columns) json_.text(column);
    json_.close(']').key("rows").open('[');
    for (const auto& one : rows) {
      json_.open('[');
      row(one);
      json_.close(']');
    }
    json_.close(']');
  }

  void head() {
    json_.key("format").text("plimsoll-report").key("version").integer(1);
    json_.key("run").open('{');
    json_.key("name").text(shown(data_.name)).key("kind").text(shown(data_.run.kind));
    json_.key("started").text(shown(data_.run.started)).key("version").text(shown(data_.run.version));
    json_.key("machine").text(shown(data_.run.machine)).key("sessions").open('[');
    for (const RunReader::Session& session : data_.sessions) {
      json_.open('{').key("started").text(shown(session.started)).key("version").text(shown(session.version));
      json_.key("time").seconds(session.time).key("step").integer(session.step).close('}');
    }
    json_.close(']').close('}');
  }

  void judgement() {
    json_.key("verdict");
    data_.judgement ? json_.raw(safe_in_html(to_text(shown_judgement(*data_.judgement)))) : json_.null();
    json_.key("line");
    data_.line > 0 ? json_.real(data_.line, 17) : json_.null();
    const Trend trend = trend_of(data_);
    floor(trend);
    spikes(trend);
  }

  void memory() {
    const auto& rows = data_.memory;
    if (rows.empty() && !whole_) return;
    const auto known = [&](auto member) {
      return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.*member >= 0; });
    };
    const bool pss = known(&MemoryRow::pss), gpu = known(&MemoryRow::gpu), step = known(&MemoryRow::step),
               file = known(&MemoryRow::file);
    std::vector<std::string> columns{"time", "bytes", "rss"};
    if (step) columns.emplace_back("step");
    if (gpu) columns.emplace_back("gpu");
    if (file) columns.emplace_back("file");
    std::vector<Measure> measures{[&](size_t i) { return or_nan(footprint(rows[i])); },
                                  [&](size_t i) { return or_nan(rows[i].rss); }};
    if (gpu) measures.emplace_back([&](size_t i) { return or_nan(rows[i].gpu); });
    const auto kept = rows_to_show(
        rows.size(), [&](size_t i) { return rows[i].time; }, measures, memory_stretches);
    json_.key("memory").open('{').key("measure").text(pss ? "pss" : "rss");
    json_.key("samples").integer(int64_t(rows.size()));
    cells(columns, kept, [&](size_t i) {
      json_.seconds(rows[i].time).count(footprint(rows[i])).count(rows[i].rss);
      if (step) json_.count(rows[i].step);
      if (gpu) json_.count(rows[i].gpu);
      if (file) json_.count(rows[i].file);
    });
    json_.close('}');
  }

  void floor(const Trend& trend) {
    table("floor", {"time", "bytes"}, trend.floor, [&](const verdict::FloorPoint& point) {
      json_.seconds(point.time).real(std::round(point.bytes), 17);
    });
    table("trend", {"time", "low", "bytes", "high"}, trend.band, [&](const BandPoint& point) {
      json_.seconds(point.time)
          .real(std::round(point.low), 17)
          .real(std::round(point.bytes), 17)
          .real(std::round(point.high), 17);
    });
  }

  void spikes(const Trend& trend) {
    table(
        "spikes", {"time", "bytes", "height", "phase"}, trend.spikes, [&](const verdict::SpikePoint& spike) {
          const auto after =
              std::upper_bound(data_.phases.begin(), data_.phases.end(), spike.time,
                               [](double time, const RunReader::Phase& phase) { return time < phase.time; });
          json_.seconds(spike.time).real(spike.bytes, 17).real(std::round(spike.height), 17);
          after == data_.phases.begin() ? json_.null() : json_.text(shown((after - 1)->name));
        });
  }

  // A row of the file is a beginning; here each has its end. Too many: the shortest go.
  void phases() {
    if (data_.phases.empty() && !whole_) return;
    struct Stretch {
      double begin, end;
      const std::string* name;
    };
    std::vector<Stretch> all;
    for (const RunReader::Phase& phase : data_.phases) {
      if (!all.empty()) all.back().end = phase.time;
      if (!all.empty() && *all.back().name == phase.name) continue;
      all.push_back({phase.time, std::max(phase.time, last_time()), &phase.name});
    }
    for (size_t i = 0; i + 1 < all.size(); ++i) all[i].end = all[i + 1].begin;
    const size_t seen = all.size();
    if (seen > most_phases) {
      std::vector<double> lengths;
      for (const Stretch& one : all) lengths.push_back(one.end - one.begin);
      std::nth_element(lengths.begin(), lengths.begin() + most_phases, lengths.end(), std::greater<>());
      const double least = lengths[most_phases];
      std::erase_if(all, [&](const Stretch& one) { return one.end - one.begin <= least; });
    }
    json_.key("phases").open('{').key("left_out").integer(int64_t(seen - all.size()));
    cells({"begin", "end", "name"}, all,
          [&](const Stretch& one) { json_.seconds(one.begin).seconds(one.end).text(shown(*one.name)); });
    json_.close('}');
  }

  double last_time() const {
    double last = 0;
    if (!data_.memory.empty()) last = data_.memory.back().time;
    if (!data_.steps.empty()) last = std::max(last, data_.steps.back().time);
    return last;
  }

  void events() {
    const auto& all = data_.events;
    if (all.empty() && !whole_) return;
    // The first ones tell how it began, the last ones how it ended.
    std::vector<const RunReader::Event*> kept;
    for (size_t i = 0; i < all.size(); ++i)
      if (all.size() <= most_events || i < most_events / 5 || i >= all.size() - most_events * 4 / 5)
        kept.push_back(&all[i]);
    json_.key("events").open('{').key("left_out").integer(int64_t(all.size() - kept.size()));
    cells({"time", "kind", "text"}, kept, [&](const RunReader::Event* event) {
      json_.seconds(event->time).text(shown(event->kind)).text(shown(event->text));
    });
    json_.close('}');
  }

  void processes() {
    if (data_.processes.empty() && data_.samples.empty() && !whole_) return;
    const ProcessStack stack = stack_processes(data_, charted_processes, stack_stretches);
    json_.key("processes").open('{').key("seen").integer(int64_t(data_.processes.size()));
    json_.key("list").open('[');
    for (const ProcessFigures& one : stack.shown) {
      const RunReader::Process& process = *one.process;
      json_.open('{').key("id").integer(process.id).key("pid").integer(process.pid);
      json_.key("parent").count(process.parent).key("name").text(shown(process.name));
      json_.key("arguments").text(shown(process.arguments)).key("role").text(shown(process.role));
      json_.key("first_seen").seconds(process.first_seen).key("ended").seconds(process.ended);
      json_.key("first_bytes").integer(one.first).key("bytes").integer(one.last);
      json_.key("low_bytes").integer(one.low).key("peak_bytes").integer(one.peak).close('}');
    }
    json_.close(']').key("others").integer(int64_t(stack.others));
    json_.key("samples").open('{');
    std::vector<std::string> columns{"time"};
    for (const ProcessFigures& one : stack.shown) columns.push_back(std::to_string(one.process->id));
    if (stack.others) columns.emplace_back("others");
    cells(columns, stack.rows, [&](const ProcessStack::Row& row) {
      json_.seconds(row.time);
      for (const int64_t bytes : row.bytes) json_.count(bytes);
    });
    json_.close('}').close('}');
  }

  void steps() {
    const auto& rows = data_.steps;
    if (rows.empty() && !whole_) return;
    const std::vector<Measure> measures{[&](size_t i) { return rows[i].loss; },
                                        [&](size_t i) { return rows[i].tokens_per_second; },
                                        [&](size_t i) { return rows[i].gradient_norm; },
                                        [&](size_t i) { return rows[i].iterations_per_second; }};
    const auto kept = rows_to_show(
        rows.size(), [&](size_t i) { return rows[i].time; }, measures, step_stretches);
    json_.key("steps").open('{').key("samples").integer(int64_t(rows.size()));
    cells({"time", "step", "loss", "learning_rate", "tokens_per_second", "seconds_per_step", "gradient_norm"},
          kept, [&](size_t i) {
            const StepRow& row = rows[i];
            json_.seconds(row.time).integer(row.step).real(row.loss).real(row.learning_rate);
            json_.real(row.tokens_per_second).real(1 / row.iterations_per_second).real(row.gradient_norm);
          });
    json_.close('}');
  }

  void evaluations() {
    const auto& rows = data_.evaluations;
    if (rows.empty() && !whole_) return;
    const auto kept = rows_to_show(
        rows.size(), [&](size_t i) { return rows[i].time; }, {[&](size_t i) { return rows[i].loss; }},
        evaluation_stretches);
    table("evaluations", {"time", "step", "loss", "floor"}, kept, [&](size_t i) {
      json_.seconds(rows[i].time).integer(rows[i].step).real(rows[i].loss).real(rows[i].floor);
    });
  }

  // What the model said about a few pictures, evaluation by evaluation.
  void pictures() {
    if (data_.pictures.empty()) return;
    json_.key("pictures").open('[');
    for (size_t i = 0; i < std::min(data_.pictures.size(), most_pictures); ++i) {
      const RunReader::Picture& picture = data_.pictures[i];
      json_.open('{').key("name").text(shown(picture.name)).key("question").text(shown(picture.question));
      json_.key("answer").text(shown(picture.answer)).key("thumbnail").text(thumbnail(picture.thumbnail));
      json_.key("said").open('[');
      std::vector<const RunReader::Answer*> said;
      for (const RunReader::Answer& answer : data_.answers)
        if (answer.picture == picture.number) said.push_back(&answer);
      if (said.size() > most_answers) said.erase(said.begin(), said.end() - ptrdiff_t(most_answers));
      for (const RunReader::Answer* answer : said)
        json_.open('{').key("step").integer(answer->step).key("text").text(shown(answer->text)).close('}');
      json_.close(']').close('}');
    }
    json_.close(']');
  }

  // Base64 or nothing: it becomes part of an address in the page.
  static std::string thumbnail(const std::string& text) {
    const bool clean =
        text.size() <= largest_thumbnail && std::all_of(text.begin(), text.end(), [](unsigned char c) {
          return std::isalnum(c) || c == '+' || c == '/' || c == '=';
        });
    return clean ? text : "";
  }

  void plan() {
    if (data_.plan.empty() && !whole_) return;
    std::vector<const RunReader::PlanValue*> values;
    for (const RunReader::PlanValue& value : data_.plan) values.push_back(&value);
    if (values.size() > most_plan) {
      std::nth_element(values.begin(), values.begin() + most_plan, values.end(),
                       [](auto* a, auto* b) { return a->bytes > b->bytes; });
      values.resize(most_plan);
    }
    json_.key("plan").open('{').key("total_bytes").integer(plan_total(data_.plan_roles, data_.plan));
    json_.key("roles").open('{');
    for (size_t i = 0; i < std::min(data_.plan_roles.size(), most_roles); ++i)
      if (data_.plan_roles[i].role != "total")
        json_.key(shown(data_.plan_roles[i].role)).integer(data_.plan_roles[i].bytes);
    json_.close('}');
    json_.key("measured").open('{');
    for (const MemoryPart& part : memory_parts(data_)) json_.key(part.name).integer(part.bytes);
    json_.close('}');
    json_.key("left_out").integer(int64_t(data_.plan.size() - values.size()));
    cells({"name", "role", "offset", "bytes", "first", "last"}, values,
          [&](const RunReader::PlanValue* value) {
            json_.text(shown(value->name))
                .text(shown(value->role))
                .integer(value->offset)
                .integer(value->bytes);
            json_.integer(value->first).integer(value->last);
          });
    json_.close('}');
  }

  void sites() {
    if (data_.sites.empty() && !whole_) return;
    const size_t kept = std::min(data_.sites.size(), most_sites);
    json_.key("sites").open('{').key("left_out").integer(int64_t(data_.sites.size() - kept));
    cells({"stack", "bytes", "blocks", "bytes_per_second", "process", "hint", "place"},
          std::vector<RunReader::Site>(data_.sites.begin(), data_.sites.begin() + long(kept)),
          [&](const RunReader::Site& site) {
            json_.open('[');
            for (const std::string& frame : frames(site.stack)) json_.text(shown(frame));
            json_.close(']').integer(site.bytes).count(site.blocks).real(site.bytes_per_second);
            json_.count(site.process).text(shown(site.hint)).text(shown(named_frame(site)));
          });
    json_.close('}');
  }

  void ranks() {
    const RankView& view = data_.ranks;
    if (view.rows.empty()) return;
    std::vector<const RankRow*> kept;
    for (const RankRow& row : view.rows) kept.push_back(&row);
    std::stable_sort(kept.begin(), kept.end(), [](const RankRow* a, const RankRow* b) {
      return std::fmax(a->peak, 0) > std::fmax(b->peak, 0);
    });
    if (kept.size() > most_ranks) kept.resize(most_ranks);
    const auto bytes = [&](double value) { json_.real(value, 17); };
    json_.key("ranks").open('{').key("seen").integer(int64_t(view.rows.size()));
    json_.key("sentence").text(view.sentence).key("worst").integer(view.rows[view.worst].rank);
    json_.key("slowest").integer(view.rows[view.slowest].rank);
    json_.key("median_peak_bytes"), bytes(view.median_peak);
    json_.key("skew").real(view.skew);
    cells({"rank", "node", "plan_bytes", "first_bytes", "bytes", "peak_bytes", "step_seconds",
           "waiting_seconds", "exchange_seconds", "verdict"},
          kept, [&](const RankRow* row) {
            json_.integer(row->rank).text(row->node);
            for (double value : {row->plan, row->first, row->last, row->peak}) bytes(value);
            json_.real(row->step_seconds).real(row->waiting_seconds).real(row->exchange_seconds);
            row->judged ? json_.text(verdict::kind_name(row->verdict.kind)) : json_.null();
          });
    json_.close('}');
  }

  void configuration() {
    if (data_.configuration.empty() && !whole_) return;
    json_.key("configuration").open('{');
    const size_t kept = std::min(data_.configuration.size(), most_settings);
    for (size_t i = 0; i < kept; ++i)
      json_.key(shown(data_.configuration[i].first))
          .text(shown_value(data_.configuration[i].first, data_.configuration[i].second));
    json_.close('}');
  }

  static double or_nan(int64_t count) { return count < 0 ? unknown_real : double(count); }

  const RunData& data_;
  const Extent extent_;
  const bool whole_;
  JsonText json_;
};

}  // namespace

std::string run_json(const RunData& data, Extent extent) { return RunText(data, extent).text(); }

std::string comparison_json(const RunData& a, const RunData& b) {
  const Difference difference = compare(a, b);
  JsonText json;
  json.open('{').key("format").text("plimsoll-comparison").key("version").integer(1);
  json.key("difference").open('{').key("floor_ratio").real(difference.floor_ratio);
  json.key("peak_ratio").real(difference.peak_ratio).key("speed_ratio").real(difference.speed_ratio);
  json.key("loss_difference").real(difference.loss_difference);
  json.key("sentence").text(difference.sentence).close('}');
  json.key("runs").open('[').raw(run_json(a)).raw(run_json(b)).close(']');
  return json.close('}').take();
}

}  // namespace plimsoll::report
