// Reads the file of one profiled process (docs/formats/heap-file.md) while it is being written or after the
// process has ended. The file is not trusted: every number is checked against what was actually read, and
// nothing is mapped, so a truncated file is an error and not a signal.
//
//   Reader reader(path);
//   reader.refresh();
//   for (const LiveSite& site : reader.live())
//     for (uint32_t frame : reader.stack(site.site)) ... reader.frame(frame) ...
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "heap/format.hpp"

namespace plimsoll::heap {

// What a stack holds at the moment of reading; sampling is taken into account.
struct LiveSite {
  uint32_t site = 0;
  uint32_t samples = 0;
  uint64_t bytes = 0, blocks = 0;
  uint64_t footprint = 0;  // with what the allocator rounds up and adds
  uint64_t allocated_bytes = 0, allocated_blocks = 0, freed_blocks = 0;  // since the beginning
  uint64_t oldest = 0;  // CLOCK_MONOTONIC, nanoseconds; of the oldest block it still holds
};

struct FrameView {
  FrameKind kind = FrameKind::native;
  std::string_view file, function;  // Python; not escaped
  uint32_t line = 0;                // Python
  uint32_t module = 0;              // native; 0: in no module
  uint64_t address = 0;             // native: in the module's file, or absolute without one
};

struct ModuleView {
  std::string_view path;  // not escaped
  std::string build_id;   // hexadecimal
};

class Reader {
 public:
  // Gives up to `bytes` bytes at `offset` and returns how many there were.
  using Source = std::function<size_t(uint64_t offset, void* to, size_t bytes)>;

  // InputError where there is no regular file to read.
  explicit Reader(const std::string& path);
  Reader(Source source, uint64_t bytes) : source_(std::move(source)), size_([bytes] { return bytes; }) {}

  // Reads what is new. False, with the reason in error(), for what is not such a file; a process that is just
  // beginning one looks the same.
  bool refresh();
  const std::string& error() const { return error_; }

  const Header& header() const { return header_; }
  const std::vector<LiveSite>& live() const { return live_; }
  const std::vector<Site>& sites() const { return sites_; }  // by number; entry 0 is none
  // Sampled blocks; those whose site is 0 or beyond sites() are none.
  const std::vector<Block>& blocks() const { return blocks_; }
  uint64_t mapping_bytes() const {
    return mapping_bytes_;
  }  // of the live bytes, those mapped by the program itself

  // Frames of a site's stack, innermost first; empty for a site that is none.
  std::vector<uint32_t> stack(uint32_t site) const;
  FrameView frame(uint32_t frame) const;
  ModuleView module(uint32_t module) const;

 private:
  template <typename Entry>
  bool read_table(const Table& table, const char* name, uint32_t most, std::vector<Entry>& entries,
                  bool grows_only);
  bool fail(std::string why);
  std::string_view text(uint32_t offset) const;

  Source source_;
  std::function<uint64_t()>
      size_;  // asked at each look: a file that was found while it was made was still empty
  uint64_t bytes_ = 0;
  std::string error_;
  Header header_{};
  std::vector<char> text_;
  std::vector<Module> modules_;
  std::vector<Frame> frames_;
  std::vector<Node> nodes_;
  std::vector<Site> sites_;
  std::vector<Block> blocks_;
  std::vector<LiveSite> live_;
  uint64_t mapping_bytes_ = 0;
};

}  // namespace plimsoll::heap
