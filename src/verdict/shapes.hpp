// The shapes a floor can take, benign ones and a leak, each as a curve over u in [0, 1], and the comparison
// of the best benign explanation with the best leaking one by (approximate) marginal likelihood under
// heavy-tailed, correlated noise.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace plimsoll::verdict {

enum class Family { warm_up, logarithm, root, fill, step, wave, saw_tooth, rise, acceleration };

struct Component {
  Family family;
  double from = 0, to = 1;  // time constant, begin or end, as the family has it
};

// An explanation of the floor: a level, a few components, and for a leak a rise to the very end.
struct Fit {
  double score = -1e300;  // log likelihood less the price of its parameters
  double correlation = 0;
  double noise = 0;  // scale of the innovations
  std::vector<Component> shapes;
  // Of the rising part, where there is one:
  double onset = 0;
  double rise = 0, rise_error = 0;
  bool accelerating = false;
};

struct Comparison {
  double evidence = 0;  // log Bayes factor: leak against benign
  Fit benign, leak;     // the best of each
  Fit steady;           // the best with a rise since the start
  // Of the leak, a unit of u: the median and the 95 % interval over all leaking explanations by their weight.
  double rate = 0, rate_low = 0, rate_high = 0;
};

// While a run goes on, growth that only slows has not yet had the time to show it: such shapes count as
// benign then.
enum class Caution { whole_series, while_running };

struct Shape : Component {
  double cost = 0;  // log of the number of choices made in picking it
  std::vector<double> values;
};

class ShapeLibrary {
 public:
  ShapeLibrary(std::vector<double> u, Caution caution);
  // `noise_floor`: what a real shape may deviate from the library's, in units of z.
  Comparison compare(std::span<const double> z, double noise_floor) const;

 private:
  std::vector<double> u_;
  std::vector<Shape> nuisances_, rises_;
};

}  // namespace plimsoll::verdict
