// Checks whether numbers are finite.
#pragma once
#include "tensor/dtype.hpp"

namespace plimsoll {

// False where one of the elements is NaN or infinite; integers always are finite.
bool all_finite(const void* data, DType dtype, uint64_t elements);

}  // namespace plimsoll
