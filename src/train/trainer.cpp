#include "train/trainer.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/units.hpp"
#include "checkpoint/store.hpp"
#include "optim/schedule.hpp"
#include "platform/allocations.hpp"
#include "platform/memory.hpp"
#include "platform/signals.hpp"
#include "record/metrics_file.hpp"
#include "record/run_record.hpp"
#include "record/sqlite_heap.hpp"
#include "report/verdict_json.hpp"
#include "train/budget.hpp"
#include "train/describe.hpp"
#include "train/evaluate.hpp"
#include "train/fitting.hpp"
#include "train/generate.hpp"
#include "train/guarded.hpp"
#include "train/progress.hpp"
#include "train/settings_json.hpp"
#include "train/smaller_steps.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t warm_iterations = 100;  // memory and allocations are counted from here on
constexpr double record_interval = 0.1;    // seconds between recorded steps
constexpr const char* no_numbers = "its update made parameters that are no numbers";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Mean of the last losses, for the final figure.
class RecentLosses {
 public:
  void add(double loss) { ring_[count_++ % ring_.size()] = loss; }
  double mean() const {
    const size_t n = std::min(count_, ring_.size());
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += ring_[i];
    return n ? sum / double(n) : NAN;
  }

 private:
  std::array<double, 100> ring_{};
  size_t count_ = 0;
};

// Moves an estimate towards the median of what it is shown, without keeping any of it.
void follow_median(double& estimate, double value) {
  if (estimate == 0) estimate = value;
  estimate += (value > estimate ? 1 : -1) * 0.02 * estimate;
}

class Trainer {
 public:
  Trainer(Start start, bool json, live::Companion* server);
  TrainResult run();

 private:
  Runtime::Extras extras() const;
  void prepare_folder();
  void load_or_initialise();
  void rehearse();
  std::optional<double> step(uint64_t done);
  SampleBatching batching() const { return {size_t(settings_.shuffle_buffer), settings_.distrust_lambda}; }
  void after_step(uint64_t iteration, double loss);
  void evaluate_now(uint64_t iteration);
  void sample_now(uint64_t iteration);
  bool state_is_finite() const;
  void save_now(uint64_t iteration);
  TrainResult diverge(uint64_t iteration, std::string_view what);
  void report_save_error();
  verdict::Verdict judge_self() const;
  TrainResult leave(uint64_t iterations, TrainResult::End end);
  void say(std::string_view text) { progress_.note(text); }
  TrainResult finish(TrainResult::End end, uint64_t iterations);

  Start start_;
  live::Companion* server_;  // may be none
  const Settings& settings_ = start_.state.settings;
  std::unique_ptr<Corpus> corpus_;
  Batches batches_;
  kernels::Backend gemm_;
  std::optional<Way> way_;  // chosen by a memory budget
  std::optional<guard::Policy> policy_;
  ProgramOptions options_;
  Runtime runtime_;
  const std::vector<TensorSlot> model_slots_ = runtime_.model_slots(),
                                optimizer_slots_ = runtime_.optimizer_slots();
  Evaluation evaluation_;
  Schedule schedule_;
  Generator generator_;
  std::vector<int32_t> prompt_;
  Progress progress_;
  OwnMemory memory_;
  OwnFloor own_floor_;
  StopRequest stop_;
  std::optional<CheckpointStore> store_;
  std::optional<RunRecord> record_;
  std::optional<MetricsFile> metrics_;
  std::optional<Guarded> guard_;
  StateText state_text_;
  RecentLosses losses_, cross_entropies_;
  double cross_entropy_ = NAN;  // of the last step, where provenance weighs and the loss is another
  std::vector<float> scratch_;  // for losses by provenance
  double median_step_ = 0;      // seconds, followed step by step
  std::optional<double> floor_;
  double last_validation_ = NAN, best_loss_, first_step_seconds_ = 0;
  double gradient_norm_ = unknown_real;
  uint64_t best_step_, saved_step_ = UINT64_MAX;
  Clock::time_point began_ = Clock::now(), last_recorded_{};
  uint64_t recorded_iteration_ = 0;
  uint64_t warm_allocations_ = 0, warm_rss_ = 0;
  const uint64_t lower_bound_ = runtime_.plan.lower_bound;
  std::string line_;  // for notes, reserved
  bool record_error_said_ = false;
  bool lost_ = false;  // parameters or moments are no longer numbers
};

std::vector<int32_t> sample_prompt(const Settings& settings, const Corpus& corpus) {
  if (!settings.prompt.empty()) return corpus.tokenizer().encode(settings.prompt);
  // A window's first token: the newline before a sentence of the grammar, or whatever the text begins with.
  std::vector<int32_t> first(1);
  corpus.window(Split::train, 0, first);
  return first;
}

std::unique_ptr<Corpus> corpus_for(Start& start) {
  auto corpus = open_corpus(start.state.settings, start.checkpoint ? &start.state.tokenizer : nullptr);
  bind_data(start, *corpus);
  return corpus;
}

// With a memory line, settles how the step is computed before anything is mapped; the choice is saved with the run, so
// that a resumed one keeps its bits. Without one, what the settings say is made definite for the same reason.
std::optional<Way> draw_line(Start& start) {
  Settings& settings = start.state.settings;
  if (settings.memory.empty()) {
    const ProgramOptions options = program_options(settings, start.state.vocab);
    settings.micro_batch = static_cast<int>(options.batch);
    settings.lanes = options.lanes;
    return std::nullopt;
  }
  const uint64_t budget = parse_size(settings.memory).of(machine_memory().total);
  const Way way = choose(settings, start.state.vocab, thread_count(settings), budget,
                         process_overhead(OwnMemory().resident()), measure_speed(settings.isa));
  apply(way, settings);
  return way;
}

Trainer::Trainer(Start start, bool json, live::Companion* server)
    : start_(std::move(start)),
      server_(server),
      corpus_(corpus_for(start_)),
      batches_(*corpus_, settings_.seed, settings_.batch * settings_.accumulate, settings_.context,
               batching()),
      gemm_(kernels::open_backend(settings_.gemm, settings_.isa)),
      way_(draw_line(start_)),
      policy_(guard_policy(settings_)),
      options_(program_options(settings_, start_.state.vocab)),
      runtime_(options_, thread_count(settings_), gemm_, way_ ? way_->staging : saves_in_background(options_),
               extras()),
      evaluation_(Evaluation::subset(*corpus_, settings_.context,
                                     uint64_t(settings_.eval_batches) * uint64_t(settings_.batch))),
      schedule_{settings_.lr, settings_.min_lr, uint64_t(settings_.warmup), uint64_t(settings_.iterations)},
      generator_(runtime_, corpus_->tokenizer(), settings_.sample_length + 256),
      prompt_(sample_prompt(settings_, *corpus_)),
      progress_({.file = json ? 2 : 1, .log_every = settings_.log_every}),
      state_text_(start_.state),
      floor_(corpus_->floor(settings_.context)),
      best_loss_(start_.state.best_loss),
      best_step_(start_.state.best_step) {
  line_.reserve(size_t(settings_.sample_length) * 4 + 1024);
  if (corpus_->samples()) scratch_.resize(size_t(settings_.context));
}

// A guarded run can be made smaller while it runs, in few steps below a line, where their heap counts. Every run is
// looked at before its memory is taken.
Runtime::Extras Trainer::extras() const {
  const int vocab = start_.state.vocab;
  return {policy_ ? smaller_steps(settings_, vocab, policy_->batch_size_reduction_factor, way_ ? 2 : 4)
                  : std::vector<ProgramOptions>(),
          [this, vocab](uint64_t bytes) { refuse_what_cannot_fit(settings_, vocab, policy_, bytes); }};
}

// Nothing is written before here: everything that could be refused has been.
void Trainer::prepare_folder() {
  if (!settings_.metrics.empty()) check_metrics(settings_.metrics, start_.folder);
  make_run_folder(start_.folder, state_text_.write(0, INFINITY, 0));
  const std::optional<uint64_t> resumed =
      start_.checkpoint && start_.same_folder ? std::optional(start_.state.step) : std::nullopt;
  store_.emplace(start_.folder, resumed, settings_.keep);
  store_->prepare(views(model_slots_), views(optimizer_slots_), state_text_.capacity(), runtime_.staging());
  record_.emplace(open_record(start_.folder, int64_t(start_.state.step), start_.notes));
  const nlohmann::json all = to_json(settings_);
  for (const auto& [key, value] : all.items())
    record_->configuration(key, value.is_string() ? value.get<std::string>() : value.dump());
  record_->configuration("parameters", std::to_string(runtime_.program.model->count()));
  record_->configuration("gemm.chosen", gemm_.description);
  record_->configuration("threads.chosen", std::to_string(runtime_.threads()));
  if (floor_) record_->configuration("entropy_floor", fmt::format("{}", *floor_));
  record_plan(*record_, runtime_.graph(), runtime_.plan);
  record_->commit();
  if (server_) server_->follow(start_.folder / "run.db");
  if (!settings_.metrics.empty()) metrics_.emplace(settings_.metrics);
  if (policy_)
    guard_.emplace(*policy_, Guarded::Parts{runtime_, *corpus_, *record_, progress_, stop_, own_floor_});
}

void Trainer::load_or_initialise() {
  if (!start_.checkpoint) return runtime_.initialise(settings_.seed);
  load(*start_.checkpoint, model_slots_, optimizer_slots_);
}

// Runs the code of every later event once, so that its pages and the libraries' first-use memory are there before the
// count begins. Reads parameters only; leaves no trace in the run.
void Trainer::rehearse() {
  generator_.generate(prompt_, 1, {});
  evaluate(runtime_, Evaluation::subset(*corpus_, settings_.context, 1), scratch_);
}

// Nothing where the guard wants to act first: parameters and moments are as before, the step is done again later.
std::optional<double> Trainer::step(uint64_t done) {
  const Program& program = runtime_.program;
  const int rows = runtime_.micro_batch(runtime_.gear());
  const size_t tokens = size_t(rows) * size_t(settings_.context + 1);
  const size_t targets = size_t(rows) * size_t(settings_.context);
  const Moment now{
      .step = done, .learning_rate = static_cast<float>(schedule_.at(done)), .seed = settings_.seed};
  const bool ended = runtime_.executor.run(program.train, now, [&](int micro, int lane) {
    if (guard_ && guard_->wants(micro == 0)) return false;
    std::span<float> weights;
    if (options_.weighted) weights = {runtime_.executor.data(program.weights, lane), targets};
    batches_.fill(done, micro * rows, {runtime_.executor.tokens(program.tokens, lane), tokens}, weights);
    return true;
  });
  if (!ended) return std::nullopt;
  // Read now: the next list to run, an evaluation, uses these bytes for its own.
  if (options_.clip > 0) gradient_norm_ = double(runtime_.executor.data(program.clip)[1]);
  if (options_.weighted) cross_entropy_ = *runtime_.executor.data(program.cross_entropy);
  return *runtime_.executor.data(program.loss);
}

void Trainer::evaluate_now(uint64_t iteration) {
  record_->phase("evaluate");
  const ValidationLoss measured = evaluate(runtime_, evaluation_, scratch_);
  last_validation_ = measured.loss;
  record_->phase("train");
  if (last_validation_ < best_loss_) best_loss_ = last_validation_, best_step_ = iteration;
  const EvaluationRow row{
      .step = int64_t(iteration), .loss = last_validation_, .floor = floor_.value_or(unknown_real)};
  record_->evaluation(row);
  if (metrics_) metrics_->evaluation(row);
  char text[256];
  auto end =
      floor_ ? fmt::format_to_n(text, sizeof text,
                                "Eval {:>6} | Validation loss: {:.4f} | Entropy floor: {:.4f} (+{:.1f} %)",
                                iteration, last_validation_, *floor_, 100 * (last_validation_ / *floor_ - 1))
             : fmt::format_to_n(text, sizeof text, "Eval {:>6} | Validation loss: {:.4f}", iteration,
                                last_validation_);
  if (measured.two_groups())
    end.size +=
        fmt::format_to_n(text + end.size, sizeof text - end.size, " | High provenance: {:.4f} | Low: {:.4f}",
                         measured.high.loss, measured.low.loss)
            .size;
  say({text, std::min(end.size, sizeof text)});
}

void Trainer::sample_now(uint64_t iteration) {
  record_->phase("sample");
  line_.assign("Sample at ");
  char number[32];
  line_.append(number, fmt::format_to_n(number, sizeof number, "{}: ", iteration).size);
  line_.append(generator_.generate(prompt_, settings_.sample_length,
                                   {.temperature = 0.8, .seed = settings_.seed + iteration}));
  record_->phase("train");
  say(line_);
}

// A finite loss says nothing of the update made after it: what would be saved is looked at itself.
bool Trainer::state_is_finite() const {
  auto finite = [](const TensorSlot& slot) {
    const uint64_t floats = float_bytes(slot.shape) / sizeof(float);
    constexpr uint32_t exponent = 0x7f800000;  // all its bits are set in infinities and NaN only
    uint32_t lost = 0;
    for (uint64_t i = 0; i < floats; ++i)
      lost |= (std::bit_cast<uint32_t>(slot.data[i]) & exponent) == exponent;
    return lost == 0;
  };
  return std::all_of(model_slots_.begin(), model_slots_.end(), finite) &&
         std::all_of(optimizer_slots_.begin(), optimizer_slots_.end(), finite);
}

void Trainer::save_now(uint64_t iteration) {
  if (saved_step_ == iteration) return;
  if (lost_ = !state_is_finite(); lost_) return;
  record_->phase("checkpoint");
  report_save_error();
  // Best by the newest evaluation: a checkpoint is the best one if it holds the parameters that were evaluated best.
  store_->save(iteration, state_text_.write(iteration, best_loss_, best_step_), best_step_ == iteration);
  saved_step_ = iteration;
  record_->phase("train");
}

void Trainer::report_save_error() {
  if (const auto error = store_->take_error()) {
    saved_step_ = UINT64_MAX;
    record_->event("checkpoint", *error);
    say(fmt::format("warning: {}; the run goes on, earlier checkpoints are intact", *error));
  }
}

void Trainer::after_step(uint64_t iteration, double loss) {
  losses_.add(loss);
  cross_entropies_.add(cross_entropy_);
  const uint64_t last = uint64_t(settings_.iterations);
  auto due = [&](int every) { return every > 0 && (iteration % uint64_t(every) == 0 || iteration == last); };
  if (due(settings_.eval_every)) evaluate_now(iteration);
  const bool val = std::isfinite(last_validation_);
  const uint64_t tokens =
      uint64_t(settings_.batch) * uint64_t(settings_.accumulate) * uint64_t(settings_.context);
  const uint64_t rss = memory_.resident();
  // As though the plan had never been changed: what the guard gave back is no fall, what it took again no rise.
  own_floor_.see(record_->now(), iteration, rss + runtime_.plan_bytes(0) - runtime_.plan.total);
  progress_.update({int(iteration), settings_.iterations, loss, floor_ ? *floor_ : last_validation_,
                    floor_ ? std::string_view("floor")
                    : val  ? std::string_view("val")
                           : std::string_view(),
                    schedule_.at(iteration - 1), tokens, rss, runtime_.plan.total, cross_entropy_,
                    guard_ ? std::string_view(guard::level_name(guard_->level())) : std::string_view()});
  if (const double since = seconds_since(last_recorded_); since >= record_interval || iteration == last) {
    const double speed = recorded_iteration_ ? double(iteration - recorded_iteration_) / since : unknown_real;
    const StepRow row{.step = int64_t(iteration),
                      .loss = loss,
                      .learning_rate = schedule_.at(iteration - 1),
                      .tokens_per_second = speed * double(tokens),
                      .iterations_per_second = speed,
                      .gradient_norm = gradient_norm_,
                      .cross_entropy = cross_entropy_,
                      .distrust = loss - cross_entropy_};
    record_->step(row);
    record_->memory({.step = int64_t(iteration), .rss = int64_t(rss)});
    if (metrics_) metrics_->step(row);
    last_recorded_ = Clock::now();
    recorded_iteration_ = iteration;
    if (!record_->error().empty() && !record_error_said_) {
      record_error_said_ = true;
      say(record_->error());
    }
  }
  if (due(settings_.sample_every)) sample_now(iteration);
  if (due(settings_.checkpoint_every)) save_now(iteration);
}

verdict::Verdict Trainer::judge_self() const {
  const uint64_t machine = machine_memory().total;
  return own_floor_.judge(
      double(settings_.memory.empty() ? machine : parse_size(settings_.memory).of(machine)));
}

TrainResult Trainer::finish(TrainResult::End end, uint64_t iterations) {
  const double seconds = seconds_since(began_);
  store_->wait();
  // Counted before anything below allocates: reporting is no part of the loop.
  TrainResult result;
  if (allocations_counted() && warm_rss_ > 0)
    result.allocations_after_warmup = allocations() - warm_allocations_;
  result.rss_after_warmup = warm_rss_;
  result.rss_end = memory_.resident();
  result.end = end;
  result.iterations = iterations;
  result.parameters = runtime_.program.model->count();
  result.loss = losses_.mean();
  result.cross_entropy = cross_entropies_.mean();
  result.floor = floor_;
  result.seconds = seconds;
  result.plan_bytes = runtime_.plan_bytes(0);
  result.plan_lower_bound_bytes = lower_bound_;
  result.threads = runtime_.threads();
  const double done = double(iterations - start_.state.step);
  result.iterations_per_second = done / seconds;
  result.tokens_per_second =
      result.iterations_per_second * settings_.batch * settings_.accumulate * settings_.context;
  result.seconds_to_first_step = first_step_seconds_;
  progress_.finish();
  if (guard_) result.guard = guard_->report();
  if (const auto error = store_->take_error(); error && end != TrainResult::End::diverged)
    throw Error(fmt::format("the last checkpoint could not be saved: {}", *error));
  result.gemm = gemm_.description;
  result.folder = start_.folder.string();
  result.milliseconds_per_step = median_step_ * 1e3;
  if (way_) {
    result.predicted_milliseconds = way_->seconds * 1e3;
    say(fmt::format("Measured {:.2f} ms a step, predicted {:.2f}", result.milliseconds_per_step,
                    way_->seconds * 1e3));
  }
  const Evaluation windows = final_windows(*corpus_, settings_.context);
  if (end == TrainResult::End::finished) {
    result.validation = evaluate(runtime_, windows, scratch_);
    result.validation_loss = result.validation.loss;
    result.validation_targets = windows.targets();
  } else {
    result.validation_loss = last_validation_;
  }
  if (corpus_->samples()) result.samples = corpus_->samples()->counts();
  result.distrust_lambda = settings_.distrust_lambda;
  result.rss_peak = memory_.peak();
  result.verdict = judge_self();
  record_->verdict(report::verdict_json(result.verdict).dump());
  record_->commit();
  return result;
}

TrainResult Trainer::diverge(uint64_t iteration, std::string_view what) {
  record_->event("diverged", what);
  store_->wait();
  const auto good = store_->last_step();
  say(fmt::format("Stopped at iteration {}: {}. {}; a lower --lr may help", iteration, what,
                  good ? fmt::format("The last good checkpoint is kept: step {}", *good)
                       : std::string("There is no good checkpoint yet")));
  return finish(TrainResult::End::diverged, iteration);
}

// Saves and ends before the last iteration.
TrainResult Trainer::leave(uint64_t iterations, TrainResult::End end) {
  runtime_.rest();  // whoever is short of memory has it while the checkpoint is written
  const bool saved_before = start_.same_folder && start_.checkpoint && iterations == start_.state.step;
  if (!saved_before) save_now(iterations);
  if (lost_) return diverge(iterations, no_numbers);
  store_->wait();
  if (end == TrainResult::End::stopped) guard_->stopped(saved_before || store_->last_step() == iterations);
  return finish(end, iterations);
}

TrainResult Trainer::run() {
  load_or_initialise();
  prepare_folder();
  for (const std::string& note : start_.notes) say("note: " + note);
  for (const std::string& note : corpus_->notes()) {
    say("note: " + note);
    record_->event("data", note);
  }
  if (start_.checkpoint)
    say(fmt::format("Resuming {} at iteration {}", start_.checkpoint->folder.string(), start_.state.step));
  describe_run(progress_, settings_, runtime_, *corpus_, gemm_, start_.folder.string());
  if (server_ && server_->serving()) say(fmt::format("Live: {}", server_->url()));
  if (way_)
    say(fmt::format("Line: {} | {} | predicted {:.2f} ms a step", settings_.memory, way_->text(),
                    way_->seconds * 1e3));
  record_->phase("train");
  rehearse();
  began_ = last_recorded_ = Clock::now();
  const uint64_t last = uint64_t(settings_.iterations), first = start_.state.step;
  if (first >= last)
    say(fmt::format("Nothing left to do: the run is at iteration {} of {}; give more --iterations", first,
                    last));
  const uint64_t warm = std::min(first + warm_iterations, std::max(first + 1, (first + last) / 2));
  for (uint64_t done = first; done < last;) {
    const auto step_began = Clock::now();
    const std::optional<double> loss = step(done);
    if (!loss) {
      if (guard_->act(done) == Guarded::Then::stop) return leave(done, TrainResult::End::stopped);
      if (stop_.requested()) return leave(done, TrainResult::End::interrupted);
      continue;
    }
    follow_median(median_step_, seconds_since(step_began));
    if (done++ == first) first_step_seconds_ = seconds_since_process_start();
    if (guard_) guard_->pace(done, median_step_);
    if (!std::isfinite(*loss)) return diverge(done, "its loss is no number");
    after_step(done, *loss);
    if (lost_) return diverge(done, no_numbers);
    if (done == warm) {
      warm_rss_ = memory_.resident();
      warm_allocations_ = allocations();
    }
    if (stop_.requested() && done < last) return leave(done, TrainResult::End::interrupted);
  }
  if (last > first || !start_.same_folder) save_now(std::max(first, last));
  return lost_ ? diverge(last, no_numbers) : finish(TrainResult::End::finished, std::max(first, last));
}

}  // namespace

TrainResult train(Start start, bool json, live::Companion* server) {
  return Trainer(std::move(start), json, server).run();
}

}  // namespace plimsoll
