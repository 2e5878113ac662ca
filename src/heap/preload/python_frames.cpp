#include <string.h>

#include <initializer_list>

#include "heap/preload/numbers.hpp"
#include "heap/preload/python.hpp"
#include "heap/preload/python_runtime.hpp"

namespace plimsoll::heap {
namespace {

template <typename T>
T field(const char* object, size_t offset) {
  T value;
  memcpy(&value, object + offset, sizeof value);
  return value;
}
const char* pointer(const char* object, size_t offset) { return field<const char*>(object, offset); }
bool plausible(const char* object) {
  const auto bits = reinterpret_cast<uintptr_t>(object);
  return bits >= 4096 && bits % alignof(void*) == 0 && bits < (1ull << 47);
}

uint64_t check_of(const PythonLayout& layout, const char* code) {
  constexpr size_t string_hash = 24;
  uint64_t hash = field<uint32_t>(code, layout.first_line);
  for (const uint16_t text : {layout.file, layout.function}) {
    const char* string = pointer(code, text);
    hash = mix(hash, reinterpret_cast<uintptr_t>(string));
    if (plausible(string)) hash = mix(hash, field<uint64_t>(string, string_hash));
  }
  return mix(hash, reinterpret_cast<uintptr_t>(pointer(code, layout.lines)));
}

size_t put_utf8(uint32_t point, char* out) {
  if (point < 0x80) return out[0] = char(point), 1;
  if (point < 0x800) return out[0] = char(0xc0 | point >> 6), out[1] = char(0x80 | (point & 63)), 2;
  if (point < 0x10000)
    return out[0] = char(0xe0 | point >> 12), out[1] = char(0x80 | (point >> 6 & 63)),
           out[2] = char(0x80 | (point & 63)), 3;
  return out[0] = char(0xf0 | (point >> 18 & 7)), out[1] = char(0x80 | (point >> 12 & 63)),
         out[2] = char(0x80 | (point >> 6 & 63)), out[3] = char(0x80 | (point & 63)), 4;
}

size_t copy_string(const PythonLayout& layout, const char* string, char* out, size_t most) {
  size_t used = 0;
  if (plausible(string)) {
    constexpr size_t length_field = 16, state_field = 32;
    const auto length = field<int64_t>(string, length_field);
    const auto state = field<uint32_t>(string, state_field);
    const unsigned kind = state >> 2 & 7;
    const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    const char* text = string + (ascii ? layout.ascii_text : layout.wide_text);
    if (compact && length > 0 && (kind == 1 || kind == 2 || kind == 4))
      for (int64_t i = 0; i < length && used + 5 < most; ++i) {
        uint32_t point = 0;
        memcpy(&point, text + size_t(i) * kind, kind);
        used += put_utf8(point, out + used);
      }
  }
  if (used == 0) out[used++] = '?';
  out[used] = 0;
  return used;
}

}  // namespace

void walk_python(PythonStack& stack) {
  stack.depth = 0;
  const PythonRuntime& python = python_runtime();
  if (python.layout == nullptr) return;
  const PythonLayout& layout = *python.layout;
  const char* thread = static_cast<const char*>(python.this_thread());
  if (!plausible(thread)) return;
  const char* frame = pointer(thread, layout.thread_frame);
  if (layout.through_frame != no_field) {
    if (!plausible(frame)) return;
    frame = pointer(frame, layout.through_frame);
  }
  // A frame that is just being made or torn down has no code yet; what lies outside of it is told all the same.
  for (size_t steps = 0; plausible(frame) && stack.depth < PythonStack::most && steps < 4 * PythonStack::most;
       ++steps) {
    const char* code = pointer(frame, layout.code);
    const bool foreign = layout.owner != no_field && uint8_t(frame[layout.owner]) == layout.foreign;
    if (!foreign && plausible(code) && pointer(code, 8) == python.code_type) {
      PythonFrame& found = stack.frames[stack.depth++];
      found.code = code;
      if (layout.instructions == 0)
        found.instruction = field<int32_t>(frame, layout.instruction) * (layout.version >= 0x030a ? 2 : 1);
      else
        found.instruction = int32_t(pointer(frame, layout.instruction) - (code + layout.instructions));
      found.check = check_of(layout, code);
    }
    frame = pointer(frame, layout.previous);
  }
}

size_t python_file(const char* code, char* out, size_t most) {
  const PythonLayout& layout = *python_runtime().layout;
  return copy_string(layout, pointer(code, layout.file), out, most);
}

size_t python_function(const char* code, char* out, size_t most) {
  const PythonLayout& layout = *python_runtime().layout;
  return copy_string(layout, pointer(code, layout.function), out, most);
}

uint32_t python_line(const PythonFrame& frame) {
  const PythonLayout& layout = *python_runtime().layout;
  const int64_t first = field<int32_t>(frame.code, layout.first_line);
  const char* lines = pointer(frame.code, layout.lines);
  if (!plausible(lines) || frame.instruction < 0) return uint32_t(first);
  constexpr size_t bytes_length = 16, bytes_text = 32;
  const auto length = field<int64_t>(lines, bytes_length);
  if (length <= 0 || length > (1 << 24)) return uint32_t(first);
  const auto* table = reinterpret_cast<const uint8_t*>(lines + bytes_text);
  const int64_t line = python_line_of(layout.version, table, size_t(length), first, frame.instruction);
  return line > 0 ? uint32_t(line) : uint32_t(first);
}

}  // namespace plimsoll::heap
