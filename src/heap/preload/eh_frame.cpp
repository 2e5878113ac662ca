// Finds the unwinding rule of an address in the .eh_frame of the module that holds it (x86-64). Only what is needed to
// walk on is kept: where the caller's stack begins and where its base pointer was saved.
#include <dlfcn.h>

#include "heap/preload/python.hpp"
#include "heap/preload/unwind.hpp"

namespace plimsoll::heap {
namespace {

constexpr int base_register = 6, stack_register = 7, return_register = 16;

// A cursor over trusted, mapped bytes.
struct Bytes {
  const uint8_t* at;
  const uint8_t* end;

  bool empty() const { return at >= end; }
  template <typename T>
  T take() {
    T value{};
    if (size_t(end - at) < sizeof value) {
      at = end;
      return value;
    }
    __builtin_memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  }
  uint64_t unsigned_leb() {
    uint64_t value = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
      const uint8_t byte = *at++;
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  int64_t signed_leb() {
    int64_t value = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
      if (at >= end || shift >= 63) return value;
      byte = *at++;
      value |= int64_t(byte & 0x7f) << shift;
      shift += 7;
    } while (byte & 0x80);
    return byte & 0x40 && shift < 64 ? value | -(int64_t(1) << shift) : value;
  }
  void skip(uint64_t bytes) { at = bytes > uint64_t(end - at) ? end : at + bytes; }
};

constexpr uint8_t encoding_pc_relative_4 = 0x1b, encoding_data_relative_4 = 0x3b, encoding_unsigned_4 = 0x03;

// Address by binary search of .eh_frame_hdr; nullptr where there is none or it is in a form no linker of today writes.
const uint8_t* find_entry(const uint8_t* header, uintptr_t address) {
  if (header[0] != 1 || header[1] != encoding_pc_relative_4 || header[2] != encoding_unsigned_4 ||
      header[3] != encoding_data_relative_4)
    return nullptr;
  uint32_t count;
  __builtin_memcpy(&count, header + 8, 4);
  struct Row {
    int32_t begin, entry;
  };
  const Row* rows = reinterpret_cast<const Row*>(header + 12);
  const int64_t wanted = int64_t(address) - int64_t(reinterpret_cast<uintptr_t>(header));
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (rows[middle].begin <= wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? nullptr : header + rows[low - 1].entry;
}

struct State {
  int cfa_register = -1;  // -1: an expression we do not know
  int64_t cfa_offset = 0;
  bool cfa_through_memory = false;
  Rule::Base base = Rule::same;
  int64_t base_offset = 0;
  bool outermost = false, lost_base = false;
};

struct Common {
  uint64_t code_factor = 1;
  int64_t data_factor = -8;
  uint8_t encoding = 0;
  bool augmented = false, usable = false;
  Bytes program{nullptr, nullptr};
};

Bytes entry_bytes(const uint8_t* entry) {
  uint32_t length;
  __builtin_memcpy(&length, entry, 4);
  if (length == 0 || length == 0xffffffff) return {nullptr, nullptr};
  return {entry + 4, entry + 4 + length};
}

Common read_common(const uint8_t* entry) {
  Common common;
  Bytes in = entry_bytes(entry);
  if (in.at == nullptr || in.take<uint32_t>() != 0) return common;
  const uint8_t version = in.take<uint8_t>();
  if (version != 1 && version != 3) return common;
  const uint8_t* augmentation = in.at;
  while (!in.empty() && *in.at) ++in.at;
  in.skip(1);
  common.code_factor = in.unsigned_leb();
  common.data_factor = in.signed_leb();
  if ((version == 1 ? in.take<uint8_t>() : in.unsigned_leb()) != return_register) return common;
  if (*augmentation == 'z') {
    common.augmented = true;
    const uint64_t length = in.unsigned_leb();
    Bytes data = in;
    in.skip(length);
    for (const uint8_t* letter = augmentation + 1; *letter; ++letter) {
      if (*letter == 'R') {
        common.encoding = data.take<uint8_t>();
      } else if (*letter == 'P') {
        const uint8_t kind = data.take<uint8_t>() & 0x0f;
        data.skip(kind == 0x0b || kind == 0x03 ? 4 : kind == 0x0a || kind == 0x02 ? 2 : 8);
      } else if (*letter == 'L') {
        data.skip(1);
      } else if (*letter == 'S') {
        return common;  // a signal's frame: the walk ends here
      } else {
        break;
      }
    }
  } else if (*augmentation) {
    return common;
  }
  common.program = in;
  common.usable = true;
  return common;
}

// Expressions of two forms are known, those compilers use where a function aligns its stack:
// base + offset, and the word at base + offset.
bool base_expression(Bytes in, int64_t& offset, bool& through_memory) {
  if (in.take<uint8_t>() != 0x70 + base_register) return false;
  offset = in.signed_leb();
  through_memory = !in.empty();
  return in.empty() || (in.take<uint8_t>() == 0x06 && in.empty());
}

void define(State& state, int64_t registr, int64_t offset) {
  state.cfa_register = int(registr);
  state.cfa_offset = offset;
  state.cfa_through_memory = false;
}

void save(State& state, uint64_t registr, Rule::Base base, int64_t offset) {
  if (registr != base_register) return;
  state.base = base;
  state.base_offset = offset;
}

// Runs the instructions up to the address; false for one that is not known.
bool execute(Bytes in, const Common& common, uintptr_t location, uintptr_t address, State& state,
             const State& initial) {
  State remembered[8];
  int depth = 0;
  while (!in.empty()) {
    const uint8_t code = in.take<uint8_t>();
    const uint8_t low = code & 0x3f;
    uint64_t advance = 0;
    switch (code & 0xc0) {
      case 0x40:
        advance = low;
        break;
      case 0x80:
        save(state, low, Rule::below_cfa, int64_t(in.unsigned_leb()) * common.data_factor);
        continue;
      case 0xc0:
        save(state, low, initial.base, initial.base_offset);
        continue;
      default:
        switch (code) {
          case 0x00:
            continue;
          case 0x01:
            return false;
          case 0x02:
            advance = in.take<uint8_t>();
            break;
          case 0x03:
            advance = in.take<uint16_t>();
            break;
          case 0x04:
            advance = in.take<uint32_t>();
            break;
          case 0x05: {
            const uint64_t registr = in.unsigned_leb();
            save(state, registr, Rule::below_cfa, int64_t(in.unsigned_leb()) * common.data_factor);
            continue;
          }
          case 0x06:
            save(state, in.unsigned_leb(), initial.base, initial.base_offset);
            continue;
          case 0x07: {
            const uint64_t registr = in.unsigned_leb();
            if (registr == return_register) state.outermost = true;
            if (registr == base_register) state.lost_base = true;
            continue;
          }
          case 0x08:
            save(state, in.unsigned_leb(), Rule::same, 0);
            continue;
          case 0x09: {
            const uint64_t registr = in.unsigned_leb();
            in.unsigned_leb();
            if (registr == base_register) state.lost_base = true;
            continue;
          }
          case 0x0a:
            if (depth == 8) return false;
            remembered[depth++] = state;
            continue;
          case 0x0b:
            if (depth == 0) return false;
            state = remembered[--depth];
            continue;
          case 0x0c: {
            const uint64_t registr = in.unsigned_leb();
            define(state, int64_t(registr), int64_t(in.unsigned_leb()));
            continue;
          }
          case 0x0d:
            define(state, int64_t(in.unsigned_leb()), state.cfa_offset);
            continue;
          case 0x0e:
            state.cfa_offset = int64_t(in.unsigned_leb());
            continue;
          case 0x0f: {
            const uint64_t length = in.unsigned_leb();
            Bytes expression{in.at, in.at};
            in.skip(length);
            expression.end = in.at;
            state.cfa_register =
                base_expression(expression, state.cfa_offset, state.cfa_through_memory) ? base_register : -1;
            continue;
          }
          case 0x10:
          case 0x16: {
            const uint64_t registr = in.unsigned_leb(), length = in.unsigned_leb();
            Bytes expression{in.at, in.at};
            in.skip(length);
            expression.end = in.at;
            if (registr != base_register) continue;
            int64_t offset = 0;
            bool through_memory = false;
            if (code == 0x16 || !base_expression(expression, offset, through_memory) || through_memory)
              state.lost_base = true;
            else
              save(state, registr, Rule::at_offset_of_base, offset);
            continue;
          }
          case 0x11: {
            const uint64_t registr = in.unsigned_leb();
            save(state, registr, Rule::below_cfa, in.signed_leb() * common.data_factor);
            continue;
          }
          case 0x12: {
            const uint64_t registr = in.unsigned_leb();
            define(state, int64_t(registr), in.signed_leb() * common.data_factor);
            continue;
          }
          case 0x13:
            state.cfa_offset = in.signed_leb() * common.data_factor;
            continue;
          case 0x2e:
            in.unsigned_leb();
            continue;
          default:
            return false;
        }
    }
    location += advance * common.code_factor;
    if (location > address) return true;
  }
  return true;
}

constexpr Rule the_end = {Rule::none, Rule::same, false, 0, 0};

}  // namespace

Rule find_rule(uintptr_t address) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0 || found.dlfo_eh_frame == nullptr)
    return the_end;
  const uint8_t* entry = find_entry(static_cast<const uint8_t*>(found.dlfo_eh_frame), address);
  if (entry == nullptr) return the_end;
  Bytes in = entry_bytes(entry);
  if (in.at == nullptr) return the_end;
  const uint8_t* pointer = in.at;
  const Common common = read_common(pointer - in.take<uint32_t>());
  if (!common.usable || common.encoding != encoding_pc_relative_4) return the_end;
  const uintptr_t field = reinterpret_cast<uintptr_t>(in.at);
  const uintptr_t begin = field + uintptr_t(intptr_t(in.take<int32_t>()));
  const uint32_t size = in.take<uint32_t>();
  if (address < begin || address - begin >= size) return the_end;
  if (common.augmented) in.skip(in.unsigned_leb());

  State initial;
  if (!execute(common.program, common, begin, UINTPTR_MAX, initial, State{})) return the_end;
  State state = initial;
  if (!execute(in, common, begin, address, state, initial) || state.outermost || state.lost_base)
    return the_end;
  Rule rule = the_end;
  rule.python = begin == python_loop();
  constexpr int64_t most = 1 << 22;
  if (state.cfa_offset <= -most || state.cfa_offset >= most || state.base_offset <= -most ||
      state.base_offset >= most)
    return rule;
  if (state.cfa_register == stack_register)
    rule.cfa = Rule::at_stack;
  else if (state.cfa_register == base_register)
    rule.cfa = state.cfa_through_memory ? Rule::through_base : Rule::at_base;
  rule.base = state.base;
  rule.cfa_offset = int32_t(state.cfa_offset);
  rule.base_offset = int32_t(state.base_offset);
  return rule;
}

}  // namespace plimsoll::heap
