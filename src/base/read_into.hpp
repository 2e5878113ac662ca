// Reads a file into memory that is there already; part of file.cpp.
#pragma once
#include <cstdint>
#include <span>

namespace plimsoll {

// Reads a regular file into `out` and returns its size, which is more than out.size() where it does not fit (nothing is read
// then), or the negative errno code. Allocates nothing.
int64_t read_into(const char* path, std::span<uint8_t> out) noexcept;

}  // namespace plimsoll
