#include "train/record_observer.hpp"

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "ranks/launch.hpp"
#include "train/describe.hpp"
#include "train/settings_json.hpp"
#include "verdict/judgement.hpp"

namespace plimsoll {

RunRecord RecordObserver::open(const PreparedRun& run, Observer& people) {
  std::vector<std::string> notes;
  RunRecord record = open_record(run.start.folder, int64_t(run.start.state.step), notes);
  for (const std::string& note : notes) people.note("note: " + note);
  return record;
}

RecordObserver::RecordObserver(const PreparedRun& run, Observer& people)
    : people_(people), record_(open(run, people)), floor_(run.floor.value_or(unknown_real)) {
  const nlohmann::json all = to_json(run.saved.settings);
  for (const auto& [key, value] : all.items())
    record_.configuration(key, value.is_string() ? value.get<std::string>() : value.dump());
  record_.configuration("parameters", std::to_string(run.runtime->program().model->count()));
  record_.configuration("model.name", run.saved.settings.model_name());
  record_.configuration("gemm.chosen", run.gemm.description);
  record_.configuration("threads.chosen", std::to_string(run.runtime->threads()));
  if (run.floor) record_.configuration("entropy_floor", fmt::format("{}", *run.floor));
  record_plan(record_, run.runtime->graph(), run.runtime->plan());
  record_.commit();
}

void RecordObserver::step(const StepDone& step) {
  const auto row = rows_.row(step);
  if (!row) return;
  record_.step(*row);
  record_.memory({.time = step.time, .step = int64_t(step.iteration), .rss = int64_t(step.resident)});
  if (error_said_ || record_.error().empty()) return;
  error_said_ = true;
  people_.note(record_.error());
}

void RecordObserver::evaluated(const Evaluated& e) {
  record_.evaluation({.step = int64_t(e.iteration), .time = e.time, .loss = e.loss.loss, .floor = floor_});
}

void RecordObserver::ranks(uint64_t iteration, double time, std::span<const RankNow> all) {
  for (size_t rank = 0; rank < all.size(); ++rank)
    record_.rank_sample({.rank = int64_t(rank),
                         .time = time,
                         .step = int64_t(iteration),
                         .rss = int64_t(all[rank].resident),
                         .step_seconds = all[rank].step_seconds,
                         .waiting_seconds = all[rank].waiting_seconds,
                         .exchange_seconds = all[rank].exchange_seconds});
}

void RecordObserver::pictures(const PictureSamples& samples) {
  record_.clear_pictures();
  for (size_t i = 0; i < samples.size(); ++i) {
    const PictureSamples::Sample& sample = samples[i];
    record_.picture({int64_t(i), sample.name, sample.question, sample.answer, to_base64(sample.thumbnail)});
  }
  record_.commit();
}

void RecordObserver::answered(uint64_t iteration, size_t picture, std::string_view text) {
  record_.answer({int64_t(iteration), int64_t(picture), text});
}

void RecordObserver::event(std::string_view kind, std::string_view text) {
  record_.event(kind, text);
  record_.commit();
}

void RecordObserver::ranks(const std::vector<RankFigures>& figures) {
  if (figures.empty()) return;
  record_.configuration("ranks", std::to_string(figures.size()));
  if (const std::string job = ranks::read_launch().job; !job.empty()) record_.configuration("job", job);
  for (size_t rank = 0; rank < figures.size(); ++rank) {
    const RankFigures& f = figures[rank];
    const auto say = [&](const char* what, const std::string& value) {
      record_.configuration(fmt::format("rank.{}.{}", rank, what), value);
    };
    say("node", f.host.data());
    say("plan_bytes", std::to_string(f.plan_bytes));
    if (f.ended.rss_peak) say("peak_rss_bytes", std::to_string(f.ended.rss_peak));
  }
  record_.commit();
}

void RecordObserver::verdict(const verdict::Verdict& verdict) {
  record_.verdict(verdict::to_text(verdict::Judgement{verdict, {}}));
  record_.commit();
}

}  // namespace plimsoll
