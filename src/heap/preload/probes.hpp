// Two static probes of the names OpenTelemetry's profiler attaches to; each is one no-op instruction until then.
#pragma once
#include <cstddef>
#include <cstdint>
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif

namespace plimsoll::heap {

inline void probe_allocation([[maybe_unused]] void* address, [[maybe_unused]] size_t size,
                             [[maybe_unused]] uint64_t weight) {
#ifdef DTRACE_PROBE3
  DTRACE_PROBE3(otel_memory, alloc, address, size, weight);
#endif
}

inline void probe_free([[maybe_unused]] void* address) {
#ifdef DTRACE_PROBE1
  DTRACE_PROBE1(otel_memory, free, address);
#endif
}

}  // namespace plimsoll::heap
