#include "heap/remote_python.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "platform/exported_symbols.hpp"
#include "platform/other_memory.hpp"

namespace plimsoll::heap {
namespace {

constexpr size_t most_threads = 64, most_frames = 64, longest_text = 512, longest_table = 1 << 16;

// "/usr/lib/libpython3.11.so.1.0", "/usr/bin/python3.11" -> 0x030b
uint32_t version_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view start : {"libpython3.", "python3."}) {
    if (!name.starts_with(start)) continue;
    unsigned minor = 0;
    const auto got = std::from_chars(name.data() + start.size(), name.data() + name.size(), minor);
    const std::string_view rest(got.ptr, size_t(name.data() + name.size() - got.ptr));
    if (got.ec == std::errc{} && minor < 256 && (rest.empty() || rest.starts_with(".so")))
      return 0x0300 | minor;
  }
  return 0;
}

bool plausible_pointer(uint64_t bits) { return bits >= 4096 && bits % 8 == 0 && bits < (1ull << 47); }

}  // namespace

RemotePython::RemotePython(const proc::Files& files, int pid) : pid_(pid) {
  // The lowest mapping of a file is its beginning.
  std::map<std::string, uint64_t> interpreters;
  files.each_line(pid, "maps", [&](std::string_view line) {
    const size_t slash = line.find('/');
    if (slash == line.npos || version_of(line.substr(slash)) == 0) return;
    uint64_t begin = 0;
    std::from_chars(line.data(), line.data() + line.size(), begin, 16);
    interpreters.try_emplace(std::string(line.substr(slash)), begin);
  });
  for (const auto& [path, begin] : interpreters) {
    const PythonLayout* layout = find_python_layout(version_of(path));
    std::map<std::string, uint64_t> wanted{{"_PyRuntime", 0}, {"PyCode_Type", 0}};
    uint64_t first = 0;
    if (!layout || !platform::find_exported(path, wanted, first)) continue;
    layout_ = layout;
    runtime_ = wanted["_PyRuntime"] + begin - first, code_type_ = wanted["PyCode_Type"] + begin - first;
    return;
  }
}

template <typename T>
bool RemotePython::read(uint64_t address, T& out) const {
  return platform::read_memory(pid_, address, &out, sizeof out);
}

std::string RemotePython::text(uint64_t string) const {
  struct {
    uint64_t references, type, length, hash;
    uint32_t state, unused;
  } head;
  if (!plausible_pointer(string) || !read(string, head)) return {};
  const unsigned kind = head.state >> 2 & 7;
  const bool ascii = head.state >> 6 & 1;
  // Names that are not plain are shown by what can be shown of them.
  if (head.length == 0 || head.length > longest_text || !(kind == 1 || kind == 2 || kind == 4)) return {};
  std::string bytes(head.length * kind, '\0');
  if (!platform::read_memory(pid_, string + (ascii ? layout_->ascii_text : layout_->wide_text), bytes.data(),
                             bytes.size()))
    return {};
  if (ascii) return bytes;
  std::string shown;
  for (size_t i = 0; i < bytes.size(); i += kind) shown += uint8_t(bytes[i]) < 128 ? bytes[i] : '?';
  return shown;
}

bool RemotePython::frame_at(uint64_t frame, RunningFrame& out) const {
  uint64_t code = 0, type = 0, file = 0, function = 0, lines = 0;
  int32_t first = 0;
  if (!read(frame + layout_->code, code) || !plausible_pointer(code) || !read(code + 8, type) ||
      type != code_type_ || !read(code + layout_->file, file) || !read(code + layout_->function, function) ||
      !read(code + layout_->lines, lines) || !read(code + layout_->first_line, first))
    return false;
  int64_t instruction = 0;
  if (layout_->instructions == 0) {
    int32_t index = 0;
    if (!read(frame + layout_->instruction, index)) return false;
    instruction = int64_t(index) * (layout_->version >= 0x030a ? 2 : 1);
  } else {
    uint64_t at = 0;
    if (!read(frame + layout_->instruction, at)) return false;
    instruction = int64_t(at - (code + layout_->instructions));
  }
  out.file = text(file), out.function = text(function);
  out.line = unsigned(std::max(0, first));
  uint64_t length = 0;
  if (plausible_pointer(lines) && read(lines + 16, length) && length > 0 && length < longest_table &&
      instruction >= 0) {
    std::vector<uint8_t> table(length);
    if (platform::read_memory(pid_, lines + 32, table.data(), length)) {
      const int64_t line = python_line_of(layout_->version, table.data(), length, first, instruction);
      if (line > 0) out.line = unsigned(line);
    }
  }
  return !out.file.empty();
}

std::vector<RunningFrame> RemotePython::frames(uint64_t thread) const {
  std::vector<RunningFrame> stack;
  uint64_t frame = 0;
  if (!read(thread + layout_->thread_frame, frame)) return stack;
  if (layout_->through_frame != no_field &&
      (!plausible_pointer(frame) || !read(frame + layout_->through_frame, frame)))
    return stack;
  for (size_t steps = 0; plausible_pointer(frame) && steps < 2 * most_frames && stack.size() < most_frames;
       ++steps) {
    RunningFrame found;
    uint8_t owner = 0;
    const bool foreign =
        layout_->owner != no_field && read(frame + layout_->owner, owner) && owner == layout_->foreign;
    if (!foreign && frame_at(frame, found)) stack.push_back(std::move(found));
    if (!read(frame + layout_->previous, frame)) break;
  }
  return stack;
}

std::vector<std::vector<RunningFrame>> RemotePython::threads() const {
  std::vector<std::vector<RunningFrame>> stacks;
  uint64_t interpreter = 0, thread = 0;
  if (!layout_ || !read(runtime_ + layout_->interpreter, interpreter) || !plausible_pointer(interpreter) ||
      !read(interpreter + layout_->threads, thread))
    return stacks;
  constexpr uint64_t next = 8;
  for (size_t count = 0; plausible_pointer(thread) && count < most_threads; ++count) {
    auto stack = frames(thread);
    if (!stack.empty()) stacks.push_back(std::move(stack));
    if (!read(thread + next, thread)) break;
  }
  return stacks;
}

}  // namespace plimsoll::heap
