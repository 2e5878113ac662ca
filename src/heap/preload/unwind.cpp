#include "heap/preload/unwind.hpp"

#include "heap/preload/numbers.hpp"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace plimsoll::heap {
namespace {

// Rules by address, shared by all threads without a lock: an entry two threads write at once fails its check. A rule
// can be stale after dlclose; the stack is read with bounds, so that costs a wrong frame, not a fault.
struct Entry {
  uint64_t check;  // address ^ rule
  uint64_t rule;
};
constexpr size_t slots = 1 << 14;
Entry cache[slots];

uint64_t pack(const Rule& rule) {
  return uint64_t(uint32_t(rule.cfa_offset) & 0xffffff) |
         uint64_t(uint32_t(rule.base_offset) & 0xffffff) << 24 | uint64_t(rule.cfa) << 48 |
         uint64_t(rule.base) << 52 | uint64_t(rule.python) << 56 | 1ull << 63;
}
int32_t sign_extend(uint64_t bits) { return int32_t(uint32_t(bits & 0xffffff) << 8) >> 8; }
Rule unpack(uint64_t bits) {
  return {Rule::Cfa(bits >> 48 & 0xf), Rule::Base(bits >> 52 & 0xf), (bits >> 56 & 1) != 0, sign_extend(bits),
          sign_extend(bits >> 24)};
}

bool look_up(const Entry& entry, uintptr_t address, uint64_t& rule) {
  const uint64_t check = __atomic_load_n(&entry.check, __ATOMIC_RELAXED);
  rule = __atomic_load_n(&entry.rule, __ATOMIC_RELAXED);
  return rule != 0 && (check ^ rule) == address;
}

void remember(Entry& entry, uintptr_t address, uint64_t rule) {
  __atomic_store_n(&entry.check, address ^ rule, __ATOMIC_RELAXED);
  __atomic_store_n(&entry.rule, rule, __ATOMIC_RELAXED);
}

// The rules of one walk beside each other. Between two samples a program that computes has emptied the processor's cache, and
// to fetch every rule from another place was nine tenths of the time a walk took. Walks that begin at the same place of the
// stack mostly took the same path to it.
constexpr size_t paths = 256, path_length = 64;
Entry path_of[paths][path_length];

Rule cached_rule(uintptr_t address, Entry* near) {
  uint64_t rule;
  if (near && look_up(*near, address, rule)) return unpack(rule);
  Entry& entry = cache[mix(0, address) >> 50];
  if (!look_up(entry, address, rule)) {
    rule = pack(find_rule(address));
    remember(entry, address, rule);
  }
  if (near) remember(*near, address, rule);
  return unpack(rule);
}

bool is_ours(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__ehdr_start) && address < reinterpret_cast<uintptr_t>(_end);
}

}  // namespace

__attribute__((noinline)) void walk_native(NativeStack& stack, bool stop_at_python) {
  stack.depth = 0;
  // This function has a frame of its own because of the next line: saved base pointer, then the return address.
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const StackReader reader(frame);
  uintptr_t base, address;
  if (!reader.word(frame, base) || !reader.word(frame + 8, address)) return;
  uintptr_t at = frame + 16;
  Entry *near = path_of[mix(0, frame) >> 56], *const beyond = near + path_length;
  while (stack.depth < NativeStack::most && address != 0) {
    // The call lies before the return address; a call that does not return may be a function's last instruction.
    const Rule rule = cached_rule(address - 1, near < beyond ? near++ : nullptr);
    if (rule.python && stop_at_python) return;
    if (!is_ours(address)) stack.frames[stack.depth++] = address;
    uintptr_t cfa;
    switch (rule.cfa) {
      case Rule::at_stack:
        cfa = at + uintptr_t(intptr_t(rule.cfa_offset));
        break;
      case Rule::at_base:
        cfa = base + uintptr_t(intptr_t(rule.cfa_offset));
        break;
      case Rule::through_base:
        if (!reader.word(base + uintptr_t(intptr_t(rule.cfa_offset)), cfa)) return;
        break;
      default:
        return;
    }
    if (cfa <= at) return;  // callers lie above
    if (rule.base == Rule::below_cfa && !reader.word(cfa + uintptr_t(intptr_t(rule.base_offset)), base))
      return;
    if (rule.base == Rule::at_offset_of_base &&
        !reader.word(base + uintptr_t(intptr_t(rule.base_offset)), base))
      return;
    if (!reader.word(cfa - 8, address)) return;
    at = cfa;
  }
}

}  // namespace plimsoll::heap
