// The stacks of a recorded run in the forms other tools read: pprof, collapsed stacks, speedscope.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::report {

struct ExportedFrame {
  std::string file, function;
  int64_t line = 0;  // 0: not known
};

struct ExportedStack {
  std::vector<ExportedFrame> frames;  // outermost first
  int64_t pid = 0;                    // 0: not known
  int64_t bytes = 0, blocks = 0;      // held
  // Ever allocated; -1: not known, the run file is older.
  int64_t allocated_bytes = -1, allocated_blocks = -1;
};

// A line of a recorded stack: "train.py:57 train_step", "libc.so.6 qsort", "/lib/x.so+0x10".
ExportedFrame parse_frame(std::string_view text);
std::vector<ExportedStack> recorded_stacks(const std::string& run_file);

// profile.proto in a gzip file: inuse_objects and inuse_space and, where they are known, alloc_objects and alloc_space.
std::string pprof(const std::vector<ExportedStack>& stacks);
// One line a stack: frames from the outermost joined by semicolons, a blank, bytes.
std::string collapsed(const std::vector<ExportedStack>& stacks);
// speedscope's file format, one profile of bytes.
std::string speedscope(const std::vector<ExportedStack>& stacks, std::string_view name);

}  // namespace plimsoll::report
