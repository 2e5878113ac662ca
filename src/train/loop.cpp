#include "train/loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "platform/allocations.hpp"
#include "platform/clock.hpp"
#include "platform/machine.hpp"
#include "train/describe.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t warm_iterations = 100;  // allocations are counted from here on
constexpr const char* lost = "its update made parameters that are NaN or infinite";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Moves an estimate towards the median of what it is shown, without keeping any of it.
void follow_median(double& estimate, double value) {
  if (estimate == 0) estimate = value;
  estimate += (value > estimate ? 1 : -1) * 0.02 * estimate;
}

}  // namespace

double RecentMean::mean() const {
  const size_t n = std::min(count_, ring_.size());
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += ring_[i];
  return n ? sum / double(n) : NAN;
}

Loop::Loop(const Parts& parts)
    : parts_(parts),
      run_(parts.run),
      runtime_(*run_.runtime),
      settings_(run_.settings()),
      generator_(runtime_, run_.corpus->tokenizer(), settings_.sample_length + 256),
      pictures_(runtime_, *run_.corpus, settings_.loaders),
      // One rank asks; all ranks have the same parameters.
      picture_samples_(runtime_, *run_.corpus, pictures_, run_.team.first() ? settings_.image_samples : 0,
                       settings_.sample_length),
      scratch_(run_.corpus->samples() ? size_t(settings_.context) : 0),
      received_(run_.team.alone() || !run_.team.first()
                    ? 0
                    : size_t(runtime_.micro_batch(0)) * size_t(settings_.context)),
      gradient_norm_(NAN),
      cross_entropy_(NAN),
      done_(run_.start.state.step) {
  figures_.last_validation = NAN;
}

// A signal, or something the guard wants to do; what does no harm waits for the next step to begin.
bool Loop::asked(bool step_begins) {
  return parts_.stop.requested() || (parts_.guard && parts_.guard->wants(step_begins));
}

Interrupt Loop::interrupt() {
  return {[](void* loop) { return static_cast<Loop*>(loop)->asked(false); }, this};
}

// Once a step, when a rank has done its part of it or leaves it: whether any of them leaves.
bool Loop::others_leave(bool leaving) {
  met_ = true;
  return run_.team.any(leaving);
}

// After something was left: whether to go on with it. The guard may have paused in between.
bool Loop::attend() {
  const std::string damage = runtime_.damage();
  if (run_.team.any(!damage.empty())) {
    leave(End::interrupted);
    fail("{}; the run is saved at iteration {}", damage.empty() ? "another rank cannot go on" : damage,
         done_);
  }
  if (parts_.guard && parts_.guard->act(done_) == Guarded::Then::stop)
    left_ = End::stopped;
  else if (run_.team.any(parts_.stop.requested()))
    left_ = End::interrupted;
  return left_ == End::finished;
}

// Runs the code of every later event once, so that its pages and the libraries' first-use memory are there before the
// count begins. Reads parameters only; leaves no trace in the run.
void Loop::rehearse() {
  generator_.generate(run_.prompt, 1, {}, interrupt());
  for (size_t i = 0; i < picture_samples_.size(); ++i) picture_samples_.ask(i, interrupt());
  EvaluationPass(Evaluation::subset(*run_.corpus, settings_.context, 1), scratch_, run_.team, received_,
                 &pictures_)
      .advance(runtime_, interrupt());
}

// Nothing where the step was left: parameters and moments are as before, it is done again later.
std::optional<double> Loop::step() {
  const Program& program = runtime_.program();
  Executor& executor = runtime_.executor();
  const int rows = runtime_.micro_batch(runtime_.gear());
  const size_t tokens = size_t(rows) * size_t(settings_.context + 1);
  const size_t targets = size_t(rows) * size_t(settings_.context);
  const bool weighted = program.weights != no_value, clipped = program.clip != no_value;
  const bool packed = program.targets != no_value;
  const Moment now{.step = done_,
                   .learning_rate = static_cast<float>(run_.schedule.at(done_)),
                   .seed = settings_.seed,
                   .loss_scale = packed ? run_.batches->loss_scale(done_) : 1};
  // Ranks are asked where they meet, within the step.
  if (!pictures_.prepare(*run_.batches, done_, uint64_t(settings_.batch) * uint64_t(settings_.accumulate),
                         run_.team.alone() ? interrupt() : Interrupt{}))
    return std::nullopt;
  met_ = false;
  bool begins = true;
  const bool ended = executor.run(
      program.train, now,
      [&](int micro, int lane) {
        if (asked(std::exchange(begins, false))) return false;
        if (packed) {
          run_.batches->fill(done_, micro * rows,
                             {{executor.tokens(program.tokens, lane), tokens},
                              {executor.tokens(program.targets, lane), targets},
                              {executor.tokens(program.positions, lane), targets}});
          pictures_.fill(*run_.batches, done_, uint64_t(micro * rows), uint64_t(rows), lane);
          return true;
        }
        std::span<float> weights;
        if (weighted) weights = {executor.data(program.weights, lane), targets};
        run_.batches->fill(done_, micro * rows, {executor.tokens(program.tokens, lane), tokens}, weights);
        return true;
      },
      interrupt(), {[](void* loop) { return static_cast<Loop*>(loop)->others_leave(false); }, this});
  if (!ended) {
    if (!met_) others_leave(true);
    return std::nullopt;
  }
  // Read now: the next list to run, an evaluation, uses these bytes for its own.
  if (clipped) gradient_norm_ = double(executor.data(program.clip)[1]);
  if (weighted) cross_entropy_ = *executor.data(program.cross_entropy);
  return *executor.data(program.loss);
}

std::optional<ValidationLoss> Loop::measure(const Evaluation& windows) {
  EvaluationPass pass(windows, scratch_, run_.team, received_, &pictures_);
  while (!pass.advance(runtime_, interrupt()))
    if (!attend()) return std::nullopt;
  return pass.result();
}

// What the model says about one of the pictures; begins anew where the guard took the cached keys and values away, nothing where the run
// is to be left.
std::optional<std::string_view> Loop::ask(size_t picture) {
  for (;;) {
    std::optional<std::string_view> said;
    if (run_.team.first()) said = picture_samples_.ask(picture, interrupt());
    if (run_.team.any(said.has_value())) return said.value_or("");
    if (!attend()) return std::nullopt;
  }
}

bool Loop::ask_about_pictures() {
  uint64_t count = picture_samples_.size();
  run_.team.share(&count, sizeof count);
  for (size_t i = 0; i < count; ++i) {
    const auto said = ask(i);
    if (!said) return false;
    parts_.tell.answered(done_, i, *said);
  }
  return true;
}

bool Loop::sample() {
  // Of a model that looks at pictures, one picture after another.
  uint64_t pictures = picture_samples_.size();
  run_.team.share(&pictures, sizeof pictures);
  if (pictures > 0) {
    const size_t next = size_t(done_ / uint64_t(settings_.sample_every)) % pictures;
    const auto said = ask(next);
    if (said && run_.team.first()) parts_.tell.sampled(done_, picture_samples_.line(next, *said));
    return said.has_value();
  }
  const SamplingOptions options{.temperature = 0.8, .seed = settings_.seed + done_};
  for (;;) {
    // What the guard does takes the cached keys and values away: the sample begins anew, with the same result.
    std::optional<std::string_view> text;
    if (run_.team.first())
      text = generator_.generate(run_.prompt, settings_.sample_length, options, interrupt());
    if (text) parts_.tell.sampled(done_, *text);
    if (run_.team.any(text.has_value())) return true;
    if (!attend()) return false;
  }
}

// Whether the evaluations since the best one are as many as are waited for. A function of what checkpoints keep, so a resumed
// run knows.
bool Loop::out_of_patience() const {
  const uint64_t best = parts_.checkpoints.best_step();
  return settings_.patience > 0 && best > 0 &&
         done_ - best >= uint64_t(settings_.patience) * uint64_t(settings_.eval_every);
}

// Whether parameters are still numbers, as far as they were looked at.
bool Loop::after_step(double loss) {
  Observers& tell = parts_.tell;
  const uint64_t last = uint64_t(settings_.iterations);
  auto due = [&](int every) {
    return left_ == End::finished && every > 0 && (done_ % uint64_t(every) == 0 || done_ == last);
  };
  losses_.add(loss);
  cross_entropies_.add(cross_entropy_);
  if (due(settings_.eval_every)) {
    tell.phase("evaluate");
    const auto measured = measure(run_.evaluation);
    tell.phase("train");
    if (measured) {
      figures_.last_validation = measured->loss;
      tell.evaluated({done_, parts_.clock.now(), *measured});
      ask_about_pictures();
    }
  }
  const uint64_t resident = memory_.resident(), planned = runtime_.plan().total;
  const double time = parts_.clock.now();
  // As though the plan had never been changed: what the guard gave back and took again is not the run's own trend.
  parts_.floor.see(time, done_, resident + runtime_.plan_bytes(0) - planned);
  tell.step({.iteration = done_,
             .iterations = last,
             .time = time,
             .loss = loss,
             .learning_rate = run_.schedule.at(done_ - 1),
             .gradient_norm = gradient_norm_,
             .cross_entropy = cross_entropy_,
             .validation = figures_.last_validation,
             .median_seconds = figures_.median_step_seconds,
             .tokens = run_.tokens_per_step(),
             .resident = resident,
             .plan_bytes = planned,
             .guard = parts_.guard ? guard::level_name(parts_.guard->level()) : std::string_view()});
  if (due(settings_.sample_every)) {
    tell.phase("sample");
    sample();
    tell.phase("train");
  }
  const bool best = settings_.patience > 0 && parts_.checkpoints.best_step() == done_;
  return !(best || due(settings_.checkpoint_every)) || parts_.checkpoints.save(done_);
}

Loop::End Loop::run() {
  parts_.tell.phase("train");
  rehearse();
  began_ = Clock::now();
  used_before_ = platform::process_seconds();
  const uint64_t first = done_, last = uint64_t(settings_.iterations);
  // Of a short run, memory is compared with what it was half-way.
  const uint64_t warm = std::min(first + warm_iterations, std::max(first + 1, (first + last) / 2));
  while (done_ < last && !out_of_patience()) {
    const auto step_began = Clock::now();
    const std::optional<double> loss = step();
    if (!loss) {
      if (!attend()) return leave(left_);
      continue;
    }
    follow_median(figures_.median_step_seconds, seconds_since(step_began));
    if (done_++ == first) figures_.first_step_seconds = platform::seconds_since_process_start();
    if (!std::isfinite(*loss)) return diverge("its loss is NaN or infinite");
    if (!after_step(*loss)) return diverge(lost);
    if (left_ != End::finished) return leave(left_);
    if (done_ == warm) figures_.rss_after_warmup = memory_.resident();
    if (done_ == first + warm_iterations) allocations_before_ = allocations();
  }
  if (!parts_.checkpoints.save(done_)) return diverge(lost);
  close(End::finished);
  if (done_ < last) {
    const std::string why = fmt::format(
        "Stopped early at iteration {}: {} evaluations without a lower validation loss than at iteration {}",
        done_, settings_.patience, parts_.checkpoints.best_step());
    parts_.tell.event("early-stop", why);
    parts_.tell.note(why);
  }
  return End::finished;
}

// Saves and ends before everything is done.
Loop::End Loop::leave(End end) {
  runtime_.rest();  // whoever is short of memory has it while the checkpoint is written
  if (!parts_.checkpoints.save(done_)) return diverge(lost);
  return close(end);
}

Loop::End Loop::diverge(std::string_view what) {
  parts_.tell.event("diverged", what);
  parts_.checkpoints.wait();
  const auto good = parts_.checkpoints.last_step();
  parts_.tell.note(fmt::format("Stopped at iteration {}: {}. {}; a lower --lr may help", done_, what,
                               good ? fmt::format("The last good checkpoint is kept: step {}", *good)
                                    : std::string("There is no good checkpoint yet")));
  return close(End::diverged);
}

Loop::End Loop::close(End end) {
  figures_.seconds = seconds_since(began_);
  figures_.processor_share =
      (platform::process_seconds() - used_before_) / (figures_.seconds * runtime_.threads());
  parts_.checkpoints.wait();
  // Counted before anything below allocates: reporting is no part of the loop.
  if (allocations_counted() && done_ >= run_.start.state.step + warm_iterations)
    figures_.allocations_after_warmup = allocations() - allocations_before_;
  figures_.rss_end = memory_.resident();
  figures_.loss = losses_.mean();
  figures_.cross_entropy = cross_entropies_.mean();
  if (end == End::stopped) parts_.guard->stopped(parts_.checkpoints.last_step() == done_);
  parts_.tell.ended();
  end == End::diverged ? parts_.checkpoints.settle() : parts_.checkpoints.settle(done_);
  return end;
}

}  // namespace plimsoll
