#include "train/trainer.hpp"

#include <cstring>

#include "base/units.hpp"
#include "platform/memory.hpp"
#include "train/describe.hpp"
#include "train/metrics_observer.hpp"
#include "train/progress_observer.hpp"
#include "train/rank_figures.hpp"
#include "train/reading_line.hpp"
#include "train/tensorboard_observer.hpp"

namespace plimsoll {
namespace {

void introduce(Observer& tell, const PreparedRun& run, const live::Companion* server) {
  for (const std::string& note : run.start.notes) tell.note("note: " + note);
  for (const std::string& note : run.corpus->notes()) {
    tell.note("note: " + note);
    tell.event("data", note);
  }
  if (run.start.checkpoint)
    tell.note(fmt::format("Resuming {} at iteration {}", run.start.checkpoint->folder.string(),
                          run.start.state.step));
  for (const std::string& line : describe_run(run)) tell.note(line);
  if (server && server->serving()) tell.note(fmt::format("Live: {}", server->url()));
  if (!run.settings().memory.empty())
    tell.note(fmt::format("Line: {} | {} | predicted {:.2f} ms per step", run.settings().memory,
                          run.way.text(), run.way.seconds * 1e3));
}

// What is known once the loop has ended.
TrainResult sum_up(const PreparedRun& run, const Loop& loop) {
  const Settings& settings = run.settings();
  const Loop::Figures& figures = loop.figures();
  TrainResult result;
  result.iterations = loop.iterations();
  result.complete = loop.iterations() >= uint64_t(settings.iterations);
  result.parameters = run.runtime->program().model->count();
  result.loss = figures.loss;
  result.cross_entropy = figures.cross_entropy;
  result.validation_loss = figures.last_validation;
  if (run.corpus->samples()) result.samples = run.corpus->samples()->counts();
  result.distrust_lambda = settings.distrust_lambda;
  result.floor = run.floor;
  result.seconds = figures.seconds;
  result.iterations_per_second = double(loop.iterations() - run.start.state.step) / figures.seconds;
  result.tokens_per_second = result.iterations_per_second * double(run.tokens_per_step());
  result.seconds_to_first_step = figures.first_step_seconds;
  result.milliseconds_per_step = figures.median_step_seconds * 1e3;
  result.processor_share = figures.processor_share;
  if (!settings.memory.empty()) result.predicted_milliseconds = run.way.seconds * 1e3;
  result.plan_bytes = run.runtime->plan_bytes(0);
  result.plan_lower_bound_bytes = run.runtime->plan(0).lower_bound;
  result.rss_after_warmup = figures.rss_after_warmup;
  result.rss_end = figures.rss_end;
  result.allocations_after_warmup = figures.allocations_after_warmup;
  result.gemm = run.gemm.description;
  result.threads = run.runtime->threads();
  if (loop.pictures().active()) result.pictures = loop.pictures().counts();
  result.folder = run.start.folder.string();
  return result;
}

// The limit its own memory is judged by.
double own_limit(const Settings& settings) {
  const uint64_t machine = machine_memory().total;
  return double(settings.memory.empty() ? machine : parse_size(settings.memory).of(machine));
}

// The run is complete: nothing is computed, but what is asked for can still be wrong.
TrainResult already_complete(Start start) {
  bind_data(start, *open_corpus(start.state.settings, &start.state.tokenizer));
  TrainResult complete;
  complete.nothing_to_do = true;
  complete.iterations = start.state.step;
  complete.folder = start.folder.string();
  return complete;
}

// Everybody who hears of the run, in the order they are told. Constructing them is what first writes anything.
// Rank 0 writes and speaks for all.
class Audience {
 public:
  Audience(PreparedRun& run, const ranks::Team& team, int output)
      : people_({.file = output, .log_every = run.settings().log_every}, run.floor,
                size_t(run.settings().sample_length) * 4),
        checkpoints_(run, tell_) {
    const Settings& settings = run.settings();
    if (team.first()) record_.emplace(run, people_);
    clock_.emplace(record());
    if (team.first() && !settings.metrics.empty())
      metrics_.emplace(settings.metrics, settings.log_every, run.floor);
    if (team.first() && !settings.tensorboard.empty())
      board_.emplace(settings.tensorboard, settings.log_every);
    if (run.policy)
      guard_.emplace(*run.policy,
                     Guarded::Parts{*run.runtime, *run.corpus, tell_, *clock_, stop_, floor_, team});
    if (guard_) tell_.add(*guard_);
    tell_.add(checkpoints_);
    if (team.first()) tell_.add(people_);
    if (record_) tell_.add(*record_);
    if (metrics_) tell_.add(*metrics_);
    if (board_) tell_.add(*board_);
  }
  Audience(const Audience&) = delete;  // its members refer to each other

  Observers& tell() { return tell_; }
  RecordObserver* record() { return record_ ? &*record_ : nullptr; }
  Guarded* guard() { return guard_ ? &*guard_ : nullptr; }
  const OwnFloor& floor() const { return floor_; }
  Loop::Parts parts(PreparedRun& run) { return {run, tell_, checkpoints_, *clock_, stop_, floor_, guard()}; }

 private:
  const StopRequest stop_;
  OwnFloor floor_;
  Observers tell_;
  ProgressObserver people_;
  Checkpoints checkpoints_;
  std::optional<RecordObserver> record_;
  std::optional<const RunClock> clock_;
  std::optional<MetricsObserver> metrics_;
  std::optional<TensorboardObserver> board_;
  std::optional<Guarded> guard_;
};

// Lines about the loop, once it has ended.
void conclude(Observer& tell, const TrainResult& result) {
  if (result.predicted_milliseconds)
    tell.note(fmt::format("Measured {:.2f} ms per step, predicted {:.2f}{}", result.milliseconds_per_step,
                          *result.predicted_milliseconds,
                          result.processor_share > 0.9
                              ? ""
                              : fmt::format(" for threads that run all the time; they ran {:.0f} % of it",
                                            result.processor_share * 100)));
  if (result.pictures)
    tell.note(fmt::format(
        "Pictures: {} tiles looked at, {} kept from before{}; {:.1f} % of the time waiting for them",
        format_count(result.pictures->looked), format_count(result.pictures->kept),
        result.pictures->read
            ? fmt::format(", {} of them read from the file", format_count(result.pictures->read))
            : "",
        100 * result.waiting_share()));
}

// The loss over the final windows. A signal or the guard may end it, which then is how the run ended.
void validate(const PreparedRun& run, Loop& loop, Guarded* guard, TrainResult& result) {
  const FinalWindows last = final_windows(*run.corpus, run.settings().context);
  if (const auto measured = loop.measure(last.windows)) {
    result.validation = *measured;
    result.validation_loss = measured->loss;
    result.validation_targets = last.windows.targets();
    result.validation_part = last.part;
  } else {
    result.end = loop.left();
    if (result.end == Loop::End::stopped) guard->stopped(true);
  }
}

// The memory of this process, then of all ranks.
void judge(const PreparedRun& run, const Loop& loop, Audience& audience, TrainResult& result) {
  result.rss_peak = OwnMemory().peak();
  result.verdict = audience.floor().judge(own_limit(run.settings()));
  RankFigures::Ended ended{result.rss_after_warmup, result.rss_peak, 1 / result.iterations_per_second,
                           loop.figures().exchange};
  if (result.verdict.kind == verdict::Kind::leak) {
    ended.leak_rate = result.verdict.rate;
    std::strncpy(ended.leak.data(), result.verdict.sentence.c_str(), ended.leak.size() - 1);
  }
  result.ranks = collect_figures(run, ended);
  result.verdict = worst_verdict(result.verdict, result.ranks);
  if (RecordObserver* record = audience.record()) {
    record->ranks(result.ranks);
    record->verdict(result.verdict);
  }
}

}  // namespace

TrainResult train(Start start, bool json, live::Companion* server, const ranks::Team& team) {
  if (start.checkpoint && start.same_folder && start.state.step == uint64_t(start.state.settings.iterations))
    return already_complete(std::move(start));

  const int output = json ? 2 : 1;
  ReadingLine reading(output);
  PreparedRun run = prepare(std::move(start), team.first() ? reading.progress() : ReadingProgress(), team);
  reading.finish();
  if (!run.settings().metrics.empty()) check_metrics(run.settings().metrics, run.start.folder);

  Audience audience(run, team, output);
  Observers& tell = audience.tell();
  introduce(tell, run, server);
  const std::vector<RankFigures> figures = collect_figures(run);
  for (const std::string& line : describe_ranks(run, figures)) tell.note(line);
  if (RecordObserver* record = audience.record()) record->ranks(figures);
  if (server) server->follow(run.start.folder / "run.db");

  Loop loop(audience.parts(run));
  if (RecordObserver* record = audience.record(); record && loop.picture_samples().size())
    record->pictures(loop.picture_samples());
  const Loop::End end = loop.run();
  TrainResult result = sum_up(run, loop);
  result.end = end;
  conclude(tell, result);
  if (end == Loop::End::finished) validate(run, loop, audience.guard(), result);
  if (audience.guard()) result.guard = audience.guard()->report();
  judge(run, loop, audience, result);
  return result;
}

}  // namespace plimsoll
