#include "heap/remote_malloc.hpp"

#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "platform/other_memory.hpp"

namespace plimsoll::heap {
namespace {

// struct malloc_state of glibc 2.32 and newer, on machines of 64 bits.
struct Arena {
  int32_t mutex, flags, have_fast_chunks, padding;
  uint64_t fast[10];
  uint64_t top, last_remainder;
  uint64_t
      bins[254];  // forward and back of 127 lists; their heads look like chunks that begin 16 bytes earlier
  uint32_t map[4];
  uint64_t next, next_free, attached_threads, system, most_system;
};
static_assert(sizeof(Arena) == 2200);

// What begins every chunk; the links are there in free ones.
struct Chunk {
  uint64_t size_before, size, forward, back;
};

constexpr size_t most_data = 1 << 20, most_arenas = 4096, most_chunks = 100'000;
constexpr uint64_t flag_bits = 7;

bool is_libc(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "libc.so.6" || (name.starts_with("libc-2.") && name.ends_with(".so"));
}

uint64_t head_of(uint64_t arena, size_t list) { return arena + offsetof(Arena, bins) + 16 * list - 16; }

// Most lists of a program are empty: their heads point at themselves. That is so from any of the lists on, so what lies
// beside them has to fit too.
bool is_arena(const Arena& arena, uint64_t address) {
  constexpr uint64_t most_threads = 1 << 22, most_bytes = 1ull << 47, page = 4096;
  size_t empty = 0;
  for (size_t list = 0; list < 127; ++list)
    empty +=
        arena.bins[2 * list] == head_of(address, list) && arena.bins[2 * list + 1] == head_of(address, list);
  return empty >= 8 && arena.top % 16 == 0 && arena.next % 16 == 0 && arena.next != 0 &&
         arena.attached_threads < most_threads && arena.system % page == 0 && arena.system != 0 &&
         arena.system <= arena.most_system && arena.most_system < most_bytes;
}

class Reading {
 public:
  explicit Reading(int pid) : pid_(pid) {}

  void add(const Arena& arena, uint64_t address) {
    ++figures_.arenas;
    figures_.system += arena.system;
    Chunk chunk;
    if (read(arena.top, chunk)) count(chunk);
    // Short chunks that were freed a moment ago, in singly linked lists; a link is masked by where it lies.
    for (size_t list = 0; list < 10; ++list)
      for (uint64_t at = arena.fast[list]; at != 0;
           at = chunk.forward ^ (at + offsetof(Chunk, forward)) >> 12)
        if (at % 16 != 0 || !read(at, chunk) || !count(chunk)) {
          figures_.complete = false;
          break;
        }
    for (size_t list = 0; list < 127; ++list) {
      const uint64_t head = head_of(address, list);
      for (uint64_t at = arena.bins[2 * list]; at != head;) {
        if (at == 0 || at % 16 != 0 || !read(at, chunk) || !count(chunk)) {
          figures_.complete = false;
          break;
        }
        at = chunk.forward;
      }
    }
  }
  MallocFigures figures() const {
    MallocFigures figures = figures_;
    // What was read while the program went on need not fit together.
    if (figures.free > figures.system) figures.free = figures.system, figures.complete = false;
    return figures;
  }

 private:
  bool read(uint64_t address, Chunk& chunk) const {
    return platform::read_memory(pid_, address, &chunk, sizeof chunk);
  }
  bool count(const Chunk& chunk) {
    if (++chunks_ > most_chunks || (chunk.size & ~flag_bits) > figures_.system)
      return figures_.complete = false;
    figures_.free += chunk.size & ~flag_bits;
    return true;
  }

  int pid_;
  size_t chunks_ = 0;
  MallocFigures figures_;
};

}  // namespace

RemoteMalloc::RemoteMalloc(const proc::Files& files, int pid) : pid_(pid) {
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> data;
  files.each_line(pid, "maps", [&](std::string_view line) {
    const size_t slash = line.find('/');
    if (slash == line.npos || !is_libc(line.substr(slash)) || line.find(" rw") == line.npos) return;
    Range range{};
    const char* end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, range.begin, 16);
    if (first.ptr == end || *first.ptr != '-') return;
    std::from_chars(first.ptr + 1, end, range.end, 16);
    if (range.end > range.begin && range.end - range.begin <= most_data) data.push_back(range);
  });
  for (const Range& range : data) {
    std::vector<char> bytes(range.end - range.begin);
    if (!platform::read_memory(pid, range.begin, bytes.data(), bytes.size())) continue;
    for (size_t at = 0; at + sizeof(Arena) <= bytes.size(); at += 16) {
      Arena arena;
      std::memcpy(&arena, bytes.data() + at, sizeof arena);
      if (!is_arena(arena, range.begin + at)) continue;
      main_arena_ = range.begin + at;
      return;
    }
  }
}

// False where the ring of arenas cannot be followed to its end.
template <typename See>
bool RemoteMalloc::each_arena(See see) const {
  uint64_t address = main_arena_;
  for (size_t i = 0; i < most_arenas && address != 0; ++i) {
    Arena arena;
    if (!platform::read_memory(pid_, address, &arena, sizeof arena) || !is_arena(arena, address)) break;
    see(arena, address);
    address = arena.next;
    if (address == main_arena_) return true;
  }
  return false;
}

std::optional<MallocFigures> RemoteMalloc::read() const {
  Reading reading(pid_);
  const bool all = each_arena([&](const Arena& arena, uint64_t address) { reading.add(arena, address); });
  return all ? std::optional(reading.figures()) : std::nullopt;
}

std::optional<uint64_t> RemoteMalloc::system_bytes() const {
  uint64_t bytes = 0;
  const bool all = each_arena([&](const Arena& arena, uint64_t) { bytes += arena.system; });
  return all ? std::optional(bytes) : std::nullopt;
}

}  // namespace plimsoll::heap
