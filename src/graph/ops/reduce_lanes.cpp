// Adds up what the leaves of a loop hand on.
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t grain = 4096;

// gradients..., losses... -> the same. Parts split the elements of all inputs, one after the other; each element is
// summed along the tree of the leaves, so the sum does not depend on who ran what.
class ReduceLanes final : public Op {
 public:
  const char* name() const override { return "reduce_lanes"; }
  Cost cost() const override { return Cost::exchange; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in.begin(), in.end()}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 40. * double(elements(in));
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (elements(in) + grain - 1) / grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    int64_t total = 0;
    for (size_t i = 0; i < f.input_count; ++i) total += f.inputs[i].type.elements();
    const Range range = split(total, part, parts, grain);
    int64_t first = 0;  // of the input, counted over all of them
    for (size_t i = 0; i < f.input_count; ++i) {
      const Operand& x = f.inputs[i];
      const int64_t count = x.type.elements(), begin = std::max(range.begin - first, int64_t{0}),
                    end = std::min(range.end - first, count);
      first += count;
      if (begin >= end || !x.lane_stride) continue;
      add_within(f.leaves, [&](int left, int right) {
        float* const sum = x.lane(left - f.leaves.first).as<float>() + begin;
        f.kernels->add({end - begin, sum, x.lane(right - f.leaves.first).as<float>() + begin, sum});
      });
    }
  }

 private:
  static int64_t elements(std::span<const Type> in) {
    int64_t sum = 0;
    for (const Type& type : in) sum += type.elements();
    return sum;
  }
};

}  // namespace

OpPointer reduce_lanes() { return std::make_shared<ReduceLanes>(); }

}  // namespace plimsoll::ops
