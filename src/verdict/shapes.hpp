// The shapes a floor can take, benign ones and a leak, each as a curve over u in [0, 1], and the comparison of the best benign
// explanation with the best leaking one by (approximate) marginal likelihood under heavy-tailed, correlated noise.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace plimsoll::verdict {

enum class Family { warm_up, logarithm, root, fill, step, wave, rise, acceleration };

struct Shape {
  Family family;
  double from = 0, to = 1;  // time constant, begin or end, as the family has it
  double cost = 0;          // log of the number of choices made in picking it
  std::vector<double> values;
};

struct Fit {
  double score = -1e300;  // log likelihood less the price of its parameters
  double correlation = 0;
  double noise = 0;       // scale of the innovations
  std::vector<const Shape*> shapes;
  // Of the rising part, where there is one:
  double onset = 0;
  double rise = 0, rise_error = 0;
  bool accelerating = false;
  double start = 0;       // fitted level at u = 0
};

struct Comparison {
  double evidence = 0;  // log Bayes factor: leak against benign
  Fit benign, leak;     // the best of each
};

class ShapeLibrary {
 public:
  explicit ShapeLibrary(std::vector<double> u);
  // `noise_floor`: what a real shape may deviate from the library's, in units of z.
  Comparison compare(std::span<const double> z, double noise_floor) const;

 private:
  std::vector<double> u_;
  std::vector<Shape> nuisances_, rises_;
};

}  // namespace plimsoll::verdict
