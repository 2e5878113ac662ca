// The interface through which a training run reports its progress. The loop computes and knows when something
// is due; each observer does one thing: keeps the record, writes metrics, shows progress, saves checkpoints,
// guards. After warm-up none of them may allocate.
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "train/evaluate.hpp"

namespace plimsoll {

struct StepDone {
  uint64_t iteration = 0, iterations = 0;  // done so far, in all
  double time = 0;                         // seconds since the run began, as the record counts them
  double loss = 0, learning_rate = 0;
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();  // NaN: not clipped
  double cross_entropy = std::numeric_limits<double>::quiet_NaN();  // NaN: the loss is nothing else
  double validation = std::numeric_limits<double>::quiet_NaN();     // the newest; NaN: none yet
  double median_seconds = 0;                                        // of a step
  uint64_t tokens = 0;                                              // of a step
  uint64_t resident = 0, plan_bytes = 0;
  std::string_view guard = {};  // its level in a word; empty: none
};

struct Evaluated {
  uint64_t iteration = 0;
  double time = 0;
  ValidationLoss loss;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // From here on the run does this: "train", "evaluate", "sample", "checkpoint", "pause".
  virtual void phase(std::string_view) {}
  virtual void step(const StepDone&) {}
  virtual void evaluated(const Evaluated&) {}
  virtual void sampled(uint64_t /*iteration*/, std::string_view /*text*/) {}
  // What the model said about a picture of those it is asked about at every evaluation.
  virtual void answered(uint64_t /*iteration*/, size_t /*picture*/, std::string_view /*text*/) {}
  // A checkpoint of this iteration is handed over to be written.
  virtual void saved(uint64_t /*iteration*/) {}
  // Something to remember: a kind ("guard", "checkpoint", …) and one line.
  virtual void event(std::string_view /*kind*/, std::string_view /*text*/) {}
  // A line for people.
  virtual void note(std::string_view) {}
  // Training is over; what follows is reported only.
  virtual void ended() {}
};

// Several as one, told in their order.
class Observers final : public Observer {
 public:
  void add(Observer& observer) { all_.push_back(&observer); }
  void phase(std::string_view name) override {
    for (Observer* o : all_) o->phase(name);
  }
  void step(const StepDone& step) override {
    for (Observer* o : all_) o->step(step);
  }
  void evaluated(const Evaluated& evaluated) override {
    for (Observer* o : all_) o->evaluated(evaluated);
  }
  void sampled(uint64_t iteration, std::string_view text) override {
    for (Observer* o : all_) o->sampled(iteration, text);
  }
  void answered(uint64_t iteration, size_t picture, std::string_view text) override {
    for (Observer* o : all_) o->answered(iteration, picture, text);
  }
  void saved(uint64_t iteration) override {
    for (Observer* o : all_) o->saved(iteration);
  }
  void event(std::string_view kind, std::string_view text) override {
    for (Observer* o : all_) o->event(kind, text);
  }
  void note(std::string_view line) override {
    for (Observer* o : all_) o->note(line);
  }
  void ended() override {
    for (Observer* o : all_) o->ended();
  }

 private:
  std::vector<Observer*> all_;
};

}  // namespace plimsoll
