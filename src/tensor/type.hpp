// The type of a buffer: element type and shape. Shapes have at most four dimensions and never change after
// recording.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/error.hpp"
#include "tensor/dtype.hpp"

namespace plimsoll {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    if (dims.size() > dims_.size())
      fail("[shape] {} dimensions; at most {} are supported", dims.size(), dims_.size());
    for (int64_t d : dims) {
      if (d < 1) fail("[shape] dimension {} is not positive", d);
      dims_[static_cast<size_t>(rank_++)] = d;
    }
  }
  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[static_cast<size_t>(i)];
    return n;
  }
  bool operator==(const Shape&) const = default;
  std::string text() const {
    std::string out = "[";
    for (int i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string(dims_[static_cast<size_t>(i)]);
    return out + "]";
  }

 private:
  std::array<int64_t, 4> dims_{1, 1, 1, 1};
  int rank_ = 0;
};

struct Type {
  Shape shape;
  DType dtype = DType::f32;
  int64_t elements() const { return shape.elements(); }
  uint64_t bytes() const { return static_cast<uint64_t>(elements()) * size_of(dtype); }
  std::string text() const { return name_of(dtype) + shape.text(); }  // "bf16[128, 512]"
  bool operator==(const Type&) const = default;
};

}  // namespace plimsoll
