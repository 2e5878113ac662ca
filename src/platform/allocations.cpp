#include "platform/allocations.hpp"

namespace plimsoll {

constinit AllocationCounts allocation_counts;

bool allocations_counted() { return allocation_counts.hooked.load(std::memory_order_relaxed); }
uint64_t allocations() { return allocation_counts.calls.load(std::memory_order_relaxed); }
uint64_t allocated_bytes() { return allocation_counts.bytes.load(std::memory_order_relaxed); }
uint64_t deallocations() { return allocation_counts.frees.load(std::memory_order_relaxed); }

}  // namespace plimsoll
