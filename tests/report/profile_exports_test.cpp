// Exports of recorded stacks, read back by hand.
#include "report/profile_exports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

const std::vector<ExportedStack> stacks = {
    {{{"train.py", "main", 3}, {"train.py", "step; twice", 57}}, 4711, 2000, 20},
    {{{"train.py", "main", 3}, {"libc.so.6", "", 0}}, 4711, 500, 1},
};

TEST(ProfileExports, ReadFramesAsTheyWereRecorded) {
  const ExportedFrame python = parse_frame("/data/a b/train.py:57 Net.forward");
  EXPECT_EQ(python.file, "/data/a b/train.py");
  EXPECT_EQ(python.line, 57);
  EXPECT_EQ(python.function, "Net.forward");
  const ExportedFrame native = parse_frame("/lib/libc.so.6 std::sort<int>(int*, int*)");
  EXPECT_EQ(native.file, "/lib/libc.so.6");
  EXPECT_EQ(native.line, 0);
  EXPECT_EQ(native.function, "std::sort<int>(int*, int*)");
  EXPECT_EQ(parse_frame("/lib/x.so+0x10").file, "/lib/x.so+0x10");
  EXPECT_EQ(parse_frame("a.cpp:12").line, 12);
  EXPECT_EQ(parse_frame("").file, "");
}

TEST(ProfileExports, CollapsedStacksKeepOneLineAStack) {
  EXPECT_EQ(collapsed(stacks),
            "process 4711;main (train.py:3);step, twice (train.py:57) 2000\n"
            "process 4711;main (train.py:3);libc.so.6 500\n");
}

TEST(ProfileExports, SpeedscopeHasItsFrames) {
  const auto json = nlohmann::json::parse(speedscope(stacks, "run.db"));
  const auto& profile = json["profiles"][0];
  EXPECT_EQ(profile["weights"], (std::vector<int>{2000, 500}));
  EXPECT_EQ(profile["endValue"], 2500);
  const auto& frames = json["shared"]["frames"];
  EXPECT_EQ(frames[profile["samples"][0].back().get<size_t>()]["name"], "step; twice");
  for (const auto& sample : profile["samples"])
    for (const auto& frame : sample) EXPECT_LT(frame.get<size_t>(), frames.size());
}

// A reader of protocol buffers in a few lines: fields of one message.
struct Field {
  unsigned number;
  uint64_t value;
  std::string_view bytes;
};
std::vector<Field> fields(std::string_view in) {
  std::vector<Field> out;
  size_t at = 0;
  const auto variable = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < in.size(); shift += 7) {
      const auto byte = uint8_t(in[at++]);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < in.size()) {
    const uint64_t tag = variable();
    Field field{unsigned(tag >> 3), variable(), {}};
    if ((tag & 7) == 2) {
      field.bytes = in.substr(at, field.value);
      at += field.value;
    }
    out.push_back(field);
  }
  return out;
}

// Names of the values of a pprof file, and the values of each sample.
struct Pprof {
  std::vector<std::string> texts, types;
  std::vector<std::vector<uint64_t>> samples;
};
Pprof read_pprof(const std::string& file) {
  EXPECT_EQ(file.substr(0, 3), "\x1f\x8b\x08");
  const std::string_view body = std::string_view(file).substr(15, file.size() - 15 - 8);
  Pprof read;
  std::vector<uint64_t> types;
  for (const Field& field : fields(body)) {
    if (field.number == 6) read.texts.emplace_back(field.bytes);
    if (field.number == 1) types.push_back(fields(field.bytes).at(0).value);
    if (field.number != 2) continue;
    for (const Field& part : fields(field.bytes)) {
      if (part.number != 2) continue;
      std::vector<uint64_t>& values = read.samples.emplace_back();
      uint64_t value = 0;
      unsigned shift = 0;
      for (const char byte : part.bytes) {
        value |= uint64_t(uint8_t(byte) & 127) << shift;
        shift += 7;
        if (uint8_t(byte) >= 128) continue;
        values.push_back(value);
        value = shift = 0;
      }
    }
  }
  for (const uint64_t type : types) read.types.push_back(read.texts.at(type));
  return read;
}

TEST(ProfileExports, PprofHoldsBytesAndNames) {
  const Pprof read = read_pprof(pprof(stacks));
  EXPECT_EQ(read.types, (std::vector<std::string>{"inuse_objects", "inuse_space"}));
  EXPECT_EQ(read.samples, (std::vector<std::vector<uint64_t>>{{20, 2000}, {1, 500}}));
  EXPECT_EQ(read.texts.at(0), "");
  EXPECT_NE(std::find(read.texts.begin(), read.texts.end(), "step; twice"), read.texts.end());
}

TEST(ProfileExports, PprofHoldsWhatWasAllocatedWhereThatIsKnown) {
  std::vector<ExportedStack> known = stacks;
  for (ExportedStack& stack : known) stack.allocated_bytes = 9000, stack.allocated_blocks = 90;
  known.push_back({{{"train.py", "freed", 5}}, 4711, 0, 0, 7000, 70});
  const Pprof read = read_pprof(pprof(known));
  EXPECT_EQ(read.types,
            (std::vector<std::string>{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}));
  EXPECT_EQ(read.samples,
            (std::vector<std::vector<uint64_t>>{{90, 9000, 20, 2000}, {90, 9000, 1, 500}, {70, 7000, 0, 0}}));
  // What holds nothing is no part of a picture of the live heap.
  EXPECT_EQ(collapsed(known), collapsed(stacks));
  EXPECT_EQ(speedscope(known, "run.db"), speedscope(stacks, "run.db"));
}

}  // namespace
}  // namespace plimsoll::report
