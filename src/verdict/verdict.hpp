// Judges whether a memory series is a leak. A pure function of the series, used by every consumer.
//
//   Verdict v = judge(samples, {.limit_bytes = 16e9});
//   if (v.kind == Kind::leak) fmt::print("{}\n", v.sentence);
//
// The method is described in docs/verdict.md.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::verdict {

struct Sample {
  double time = 0;  // seconds, any origin
  double bytes = 0;
};

// A stretch of the run with a name ("validate"), to say what spikes belong to.
struct Phase {
  double begin = 0, end = 0;  // seconds, same origin as the samples
  std::string name;
};

// When a step was reached, to say growth by the step; both ascending.
struct StepMark {
  double time = 0, step = 0;
};

// Options::patience_seconds of a program that is watched. Chosen on recorded programs; docs/verdict.md has the trade.
constexpr double usual_patience = 35;

struct Options {
  double limit_bytes = 0;         // the line not to cross; 0: none known
  double matter_fraction = 0.02;  // growth below this share of the floor is not worth a word
  double evidence = 3.2;          // log Bayes factor a leak needs over the best benign explanation
  std::span<const StepMark> steps = {};
  const char* step_unit = "step";  // what a mark counts: "logged step" where only some are told
  // When the first pass over the data ended, in seconds; infinity: it goes on. Growth may end with it, so a leak is
  // called only where it went on well after. Not set: nothing is known of epochs.
  std::optional<double> first_epoch_end = {};
  // When the program had loaded its code (start_up.hpp), in seconds: what comes before is not judged. Not set: not known.
  std::optional<double> loaded = {};
  // While running: how long an even rise must have lasted to be no cache that fills, where the program does not say
  // how far it is; 0: only samples are counted.
  double patience_seconds = 0;
  std::span<const Phase> phases = {};
  bool ended = false;  // the program has ended: its last moments may be its coming down
  // What comes up from far below at first is a program that starts; a single line of one starts at nothing and has no
  // start-up of its own.
  bool starts_up = true;
};

enum class Kind { leak, no_leak, undecided };
const char* kind_name(Kind kind);  // "leak", "no-leak", "undecided"

struct Spikes {
  size_t count = 0;
  double typical_bytes = 0;  // median height above the floor
  std::string phase;         // empty: none known
};

struct Verdict {
  Kind kind = Kind::undecided;
  bool growing = false;                // the floor rises now, whether or not that is a leak
  double rate = 0;                     // bytes per second since the onset; the best estimate for every kind
  double rate_low = 0, rate_high = 0;  // 95 % interval
  double ruled_out_rate = 0;           // growth above this rate would have been seen
  double floor_start = 0, floor_end = 0;
  bool by_steps = false;                     // judged along the steps the program tells, as they move with it
  double judged_from = 0, judged_until = 0;  // seconds: without the start-up and the coming down
  double onset = 0;                          // seconds, when the growth began
  double confidence = 0;                     // 0..1 that the floor keeps rising rather than any benign shape
  double evidence = 0;                       // log Bayes factor, leak against the best benign explanation
  double needs_seconds = 0;                  // undecided: about how much longer
  std::optional<double> seconds_to_limit;
  double limit_bytes = 0;
  std::optional<double> rate_per_step;
  std::string step_unit = "step";
  bool may_end_with_epoch = false;  // growing, in what may be the first pass over the data
  double period = 0;                // seconds of the saw-tooth or epoch taken out; 0: none
  Spikes spikes;
  size_t samples = 0;       // usable ones
  std::string explanation;  // the benign or leaking shape that explains the floor best
  std::string sentence;
};

Verdict judge(std::span<const Sample> samples, const Options& options = {});

// The same judgement while samples arrive. Memory is bounded for any length of run; evaluations are made at
// geometric times and a leak is called only when several looks in a row say so and the rise has lasted, so
// looking often does not raise false alarms.
class OnlineVerdict {
 public:
  explicit OnlineVerdict(Options options = {});
  ~OnlineVerdict();
  OnlineVerdict(OnlineVerdict&&) noexcept;
  OnlineVerdict& operator=(OnlineVerdict&&) noexcept;

  void add(Sample sample);
  // A step was reached, of `total` where that is known; call it in the order of time, before the samples that come
  // later.
  void step(StepMark mark, double total = 0);
  // Undecided until a leak is established; then the leak, as long as it lasts.
  const Verdict& current() const;
  std::optional<double> first_leak() const;  // time of the sample at which a leak was first called
  // The line not to cross may become known, or change, while running.
  void limit(double bytes);
  void first_epoch_end(double seconds);
  void loaded(double seconds);
  // The verdict over everything seen, as `judge` gives it.
  Verdict final_verdict() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::verdict
