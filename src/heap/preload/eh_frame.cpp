// Finds the unwinding rule of an address in the .eh_frame of the module that holds it (x86-64). Only what is needed to
// walk on is kept: where the caller's stack begins and where its base pointer was saved.
#include <dlfcn.h>

#include <optional>

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

// Instructions of call frame programs, as DWARF numbers them. The first three carry an operand in their low bits.
enum Instruction : uint8_t {
  advance = 0x40,
  offset = 0x80,
  restore = 0xc0,
  nothing = 0x00,
  advance_1 = 0x02,
  advance_2 = 0x03,
  advance_4 = 0x04,
  offset_extended = 0x05,
  restore_extended = 0x06,
  undefined = 0x07,
  same_value = 0x08,
  in_register = 0x09,
  remember_state = 0x0a,
  restore_state = 0x0b,
  define_cfa = 0x0c,
  define_cfa_register = 0x0d,
  define_cfa_offset = 0x0e,
  define_cfa_expression = 0x0f,
  expression = 0x10,
  offset_signed = 0x11,
  define_cfa_signed = 0x12,
  define_cfa_offset_signed = 0x13,
  value_expression = 0x16,
  arguments_size = 0x2e,
};
constexpr uint8_t high_bits = 0xc0, low_bits = 0x3f;

bool names_register(uint8_t kind) {
  constexpr Instruction kinds[] = {offset,        restore,         offset_extended, restore_extended,
                                   undefined,     same_value,      in_register,     expression,
                                   offset_signed, value_expression};
  for (const Instruction each : kinds)
    if (kind == each) return true;
  return false;
}

class CallFrame {
 public:
  CallFrame(const Common& common, const State& initial)
      : state(initial), common_(common), initial_(initial) {}

  // Runs the instructions up to the address; false for one that is not known.
  bool run(Bytes program, uintptr_t location, uintptr_t address) {
    in_ = program;
    while (!in_.empty()) {
      const uint8_t code = in_.take<uint8_t>();
      if (const auto units = advanced_by(code)) {
        location += *units * common_.code_factor;
        if (location > address) return true;
      } else if (!is_register_rule(code) && !is_cfa_rule(code) && !is_other(code)) {
        return false;
      }
    }
    return true;
  }

  State state;

 private:
  std::optional<uint64_t> advanced_by(uint8_t code) {
    if ((code & high_bits) == advance) return code & low_bits;
    if (code == advance_1) return in_.take<uint8_t>();
    if (code == advance_2) return in_.take<uint16_t>();
    if (code == advance_4) return in_.take<uint32_t>();
    return std::nullopt;
  }

  // Where a register of the caller was saved. The base pointer's is of interest; all operands have to be read.
  bool is_register_rule(uint8_t code) {
    const uint8_t kind = code & high_bits ? code & high_bits : code;
    if (!names_register(kind)) return false;
    const uint64_t saved = code & high_bits ? code & low_bits : in_.unsigned_leb();
    switch (kind) {
      case offset:
      case offset_extended:
        save(saved, Rule::below_cfa, int64_t(in_.unsigned_leb()) * common_.data_factor);
        break;
      case offset_signed:
        save(saved, Rule::below_cfa, in_.signed_leb() * common_.data_factor);
        break;
      case restore:
      case restore_extended:
        save(saved, initial_.base, initial_.base_offset);
        break;
      case same_value:
        save(saved, Rule::same, 0);
        break;
      case undefined:
        state.outermost = state.outermost || saved == return_register;
        lose(saved);
        break;
      case in_register:
        in_.unsigned_leb();
        lose(saved);
        break;
      case value_expression:
        take_block();
        lose(saved);
        break;
      case expression: {
        int64_t from_base = 0;
        bool through_memory = false;
        if (base_expression(take_block(), from_base, through_memory) && !through_memory)
          save(saved, Rule::at_offset_of_base, from_base);
        else
          lose(saved);
      }
    }
    return true;
  }

  // Where the caller's stack begins.
  bool is_cfa_rule(uint8_t code) {
    switch (code) {
      case define_cfa:
        define(in_.unsigned_leb());
        state.cfa_offset = int64_t(in_.unsigned_leb());
        return true;
      case define_cfa_signed:
        define(in_.unsigned_leb());
        state.cfa_offset = in_.signed_leb() * common_.data_factor;
        return true;
      case define_cfa_register:
        define(in_.unsigned_leb());
        return true;
      case define_cfa_offset:
        state.cfa_offset = int64_t(in_.unsigned_leb());
        return true;
      case define_cfa_offset_signed:
        state.cfa_offset = in_.signed_leb() * common_.data_factor;
        return true;
      case define_cfa_expression:
        state.cfa_register =
            base_expression(take_block(), state.cfa_offset, state.cfa_through_memory) ? base_register : -1;
        return true;
      default:
        return false;
    }
  }

  bool is_other(uint8_t code) {
    if (code == remember_state && depth_ < most_remembered) {
      remembered_[depth_++] = state;
      return true;
    }
    if (code == restore_state && depth_ > 0) {
      state = remembered_[--depth_];
      return true;
    }
    if (code == arguments_size) in_.unsigned_leb();
    return code == arguments_size || code == nothing;
  }

  Bytes take_block() {
    const uint64_t length = in_.unsigned_leb();
    const uint8_t* begin = in_.at;
    in_.skip(length);
    return {begin, in_.at};
  }
  void define(uint64_t number) {
    state.cfa_register = int(number);
    state.cfa_through_memory = false;
  }
  void save(uint64_t number, Rule::Base base, int64_t from) {
    if (number != base_register) return;
    state.base = base;
    state.base_offset = from;
  }
  void lose(uint64_t number) { state.lost_base = state.lost_base || number == base_register; }

  static constexpr int most_remembered = 8;
  const Common& common_;
  const State& initial_;
  Bytes in_{nullptr, nullptr};
  State remembered_[most_remembered];
  int depth_ = 0;
};

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

  const State fresh;
  CallFrame every(common, fresh);
  if (!every.run(common.program, begin, UINTPTR_MAX)) return the_end;
  CallFrame frame(common, every.state);
  const State& state = frame.state;
  if (!frame.run(in, begin, address) || state.outermost || state.lost_base) return the_end;
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
