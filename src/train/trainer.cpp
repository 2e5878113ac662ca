#include "train/trainer.hpp"

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
  result.folder = run.start.folder.string();
  return result;
}

// The limit its own memory is judged by.
double own_limit(const Settings& settings) {
  const uint64_t machine = machine_memory().total;
  return double(settings.memory.empty() ? machine : parse_size(settings.memory).of(machine));
}

}  // namespace

TrainResult train(Start start, bool json, live::Companion* server, const ranks::Team& team) {
  if (start.checkpoint && start.same_folder &&
      start.state.step == uint64_t(start.state.settings.iterations)) {
    // What is asked for can still be wrong.
    bind_data(start, *open_corpus(start.state.settings, &start.state.tokenizer));
    TrainResult complete;
    complete.nothing_to_do = true;
    complete.iterations = start.state.step;
    complete.folder = start.folder.string();
    return complete;
  }

  const int output = json ? 2 : 1;
  ReadingLine reading(output);
  PreparedRun run = prepare(std::move(start), team.first() ? reading.progress() : ReadingProgress(), team);
  reading.finish();
  const Settings& settings = run.settings();
  if (!settings.metrics.empty()) check_metrics(settings.metrics, run.start.folder);

  const StopRequest stop;
  OwnFloor floor;
  Observers tell;
  ProgressObserver people({.file = output, .log_every = settings.log_every}, run.floor,
                          size_t(settings.sample_length) * 4);
  // Nothing is written before here. Rank 0 writes and speaks for all.
  Checkpoints checkpoints(run, tell);
  std::optional<RecordObserver> record;
  if (team.first()) record.emplace(run, people);
  const RunClock clock(record ? &*record : nullptr);
  if (server) server->follow(run.start.folder / "run.db");
  std::optional<MetricsObserver> metrics;
  if (team.first() && !settings.metrics.empty())
    metrics.emplace(settings.metrics, settings.log_every, run.floor);
  std::optional<TensorboardObserver> board;
  if (team.first() && !settings.tensorboard.empty()) board.emplace(settings.tensorboard, settings.log_every);
  std::optional<Guarded> guard;
  if (run.policy)
    guard.emplace(*run.policy, Guarded::Parts{*run.runtime, *run.corpus, tell, clock, stop, floor, team});
  if (guard) tell.add(*guard);
  tell.add(checkpoints);
  if (team.first()) tell.add(people);
  if (record) tell.add(*record);
  if (metrics) tell.add(*metrics);
  if (board) tell.add(*board);

  introduce(tell, run, server);
  const std::vector<RankFigures> figures = collect_figures(run);
  for (const std::string& line : describe_ranks(run, figures)) tell.note(line);
  if (record) record->ranks(figures);
  Loop loop({run, tell, checkpoints, clock, stop, floor, guard ? &*guard : nullptr});
  if (record && loop.picture_samples().size()) record->pictures(loop.picture_samples());
  const Loop::End end = loop.run();
  TrainResult result = sum_up(run, loop);
  result.end = end;
  if (result.predicted_milliseconds)
    tell.note(fmt::format("Measured {:.2f} ms per step, predicted {:.2f}{}", result.milliseconds_per_step,
                          *result.predicted_milliseconds,
                          result.processor_share > 0.9
                              ? ""
                              : fmt::format(" for threads that run all the time; they ran {:.0f} % of it",
                                            result.processor_share * 100)));
  if (const PictureFeed& pictures = loop.pictures(); pictures.active())
    tell.note(fmt::format(
        "Pictures: {} tiles looked at, {} kept from before; {:.1f} % of the time waiting for them",
        format_count(pictures.looked()), format_count(pictures.kept()),
        100 * pictures.seconds_awaited() / std::max(1e-9, loop.figures().seconds)));
  if (end == Loop::End::finished) {
    const FinalWindows last = final_windows(*run.corpus, settings.context);
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
  if (guard) result.guard = guard->report();
  result.rss_peak = OwnMemory().peak();
  result.ranks = collect_figures(run, result.rss_after_warmup, result.rss_peak);
  if (record) record->ranks(result.ranks);
  result.verdict = floor.judge(own_limit(settings));
  if (record) record->verdict(result.verdict);
  return result;
}

}  // namespace plimsoll
