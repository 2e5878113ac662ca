// The file a profiled process shares with its watcher, described in docs/formats/heap-file.md. Written by the
// preloaded library alone, so nothing here may need the C++ library; read by heap/reader.hpp, which trusts none of it.
#pragma once
#include <cstdint>

namespace plimsoll::heap {

inline constexpr char file_magic[8] = {'P', 'L', 'M', 'H', 'E', 'A', 'P', '\0'};
inline constexpr uint32_t file_version = 1;

// Which allocator a block came from.
enum class Domain : uint32_t { malloc = 1, mapping = 2, python = 3 };
enum class FrameKind : uint32_t { native = 1, python = 2 };

// Entry 0 of every table is unused, so that 0 means "none".
struct Table {
  uint64_t offset;    // of entry 0, from the beginning of the file
  uint32_t capacity;  // entries
  uint32_t used;      // entries ever begun, entry 0 included; what lies beyond has never been written
};

struct Module {
  uint64_t start, end;  // mapped addresses
  uint64_t bias;        // address - bias is the address in the file
  uint32_t path;        // offset in the text
  uint32_t id_bytes;
  uint8_t id[24];  // GNU build id, its first id_bytes
};

struct Frame {
  uint64_t
      where;  // native: address in the module, or absolute without one; Python: file << 32 | function, both text
  uint32_t place;  // native: index of the module; Python: line
  FrameKind kind;
};

// A stack is a path to the root: node, its parent and so on. The frame of the node itself is the innermost.
struct Node {
  uint32_t parent;  // 0: outermost
  uint32_t frame;
  uint32_t site;  // of the stack that ends here; 0: none does
  uint32_t unused;
};

// One stack that allocated. Sampling is taken into account: these are estimates of all it did.
struct Site {
  uint32_t node;
  uint32_t unused;
  uint64_t bytes, blocks;              // ever allocated
  uint64_t freed_bytes, freed_blocks;  // of those, given back
};

// A sampled block that is alive. An entry whose site is 0 is free.
struct Block {
  uint64_t address, size;
  uint64_t bytes;  // of all blocks this one stands for
  uint64_t time;   // CLOCK_MONOTONIC, nanoseconds
  uint32_t site;
  Domain domain;
};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t pid;
  uint64_t file_bytes;
  uint64_t began;  // CLOCK_MONOTONIC, nanoseconds
  uint64_t rate;   // mean bytes between samples
  Table text;      // capacity and used in bytes; texts end with a zero byte
  Table modules, frames, nodes, sites, blocks;
  uint64_t samples;        // ever taken
  uint64_t dropped;        // samples lost because a table was full or another thread held it for too long
  uint64_t missed;         // frees of sampled blocks that could not be noted
  uint64_t arena_bytes;    // mapped by Python's own allocator
  uint32_t python;         // version as in PY_VERSION_HEX >> 16 (0x030b); 0: no Python
  uint32_t python_frames;  // 1: read; 0: none, or a build whose frames cannot be read
  char allocator[64];      // file that provides malloc
};

// The page by which a library that sleeps is woken: a file named after its process in the folder wake_folder + user. The
// watcher writes an odd generation, the wish, and the next even generation.
inline constexpr char wake_folder[] = "/tmp/plimsoll-dormant-";
inline constexpr char wake_magic[8] = {'P', 'L', 'M', 'W', 'A', 'K', 'E', '\0'};
inline constexpr uint32_t wake_version = 1;
struct WakePage {
  char magic[8];
  uint32_t version, pid;
  uint32_t generation;
  uint32_t on;        // 1: sample into the folder; 0: sleep
  uint64_t rate;      // mean bytes between samples
  char folder[3072];  // ends with a zero byte
};
static_assert(sizeof(WakePage) <= 4096);

inline constexpr uint64_t header_bytes = 4096;
static_assert(sizeof(Header) <= header_bytes && sizeof(Module) == 56 && sizeof(Frame) == 16 &&
              sizeof(Node) == 16 && sizeof(Site) == 40 && sizeof(Block) == 40);

// Anonymous memory the library itself takes in a process that is sampled, all of it with its first sample: what grew with
// the samples would be taken for growth of the program.
inline constexpr uint64_t library_bytes = 0x51d000;

inline constexpr uint32_t text_capacity = 1 << 20, module_capacity = 1 << 11, frame_capacity = 1 << 15,
                          node_capacity = 1 << 18, site_capacity = 1 << 15, block_capacity = 3 << 16;
inline constexpr uint64_t whole_file_bytes =
    header_bytes + text_capacity + uint64_t(module_capacity) * sizeof(Module) +
    uint64_t(frame_capacity) * sizeof(Frame) + uint64_t(node_capacity) * sizeof(Node) +
    uint64_t(site_capacity) * sizeof(Site) + uint64_t(block_capacity) * sizeof(Block);

// An empty file of this name and the number of the error, beside where the file of a process could not be reserved.
inline constexpr char refused_name[] = "refused.";

}  // namespace plimsoll::heap
