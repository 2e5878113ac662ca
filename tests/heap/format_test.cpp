// docs/formats/heap-file.md says where every field lies; this says it from the structures.
#include "heap/format.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "base/file.hpp"

namespace plimsoll::heap {
namespace {

TEST(HeapFormat, IsAsThePageDescribes) {
  const std::string page =
      read_file(std::string(PLIMSOLL_SOURCE_DIR) + "/docs/formats/heap-file.md", 1 << 20);
  auto row = [&](const char* name, size_t offset, size_t bytes) {
    const std::string text = fmt::format("| {} | {} | `{}` |", offset, bytes, name);
    EXPECT_NE(page.find(text), std::string::npos) << "missing: " << text;
  };
#define FIELD(type, field) row(#field, offsetof(type, field), sizeof(type::field))
  FIELD(Header, magic);
  FIELD(Header, version);
  FIELD(Header, pid);
  FIELD(Header, file_bytes);
  FIELD(Header, began);
  FIELD(Header, rate);
  FIELD(Header, text);
  FIELD(Header, modules);
  FIELD(Header, frames);
  FIELD(Header, nodes);
  FIELD(Header, sites);
  FIELD(Header, blocks);
  FIELD(Header, samples);
  FIELD(Header, dropped);
  FIELD(Header, missed);
  FIELD(Header, arena_bytes);
  FIELD(Header, python);
  FIELD(Header, python_frames);
  FIELD(Header, allocator);
  FIELD(Table, offset);
  FIELD(Table, capacity);
  FIELD(Table, used);
  FIELD(Module, start);
  FIELD(Module, end);
  FIELD(Module, bias);
  FIELD(Module, path);
  FIELD(Module, id_bytes);
  FIELD(Module, id);
  FIELD(Frame, where);
  FIELD(Frame, place);
  FIELD(Frame, kind);
  FIELD(Node, parent);
  FIELD(Node, frame);
  FIELD(Node, site);
  FIELD(Site, node);
  FIELD(Site, bytes);
  FIELD(Site, blocks);
  FIELD(Site, freed_bytes);
  FIELD(Site, freed_blocks);
  FIELD(Block, address);
  FIELD(Block, size);
  FIELD(Block, bytes);
  FIELD(Block, time);
  FIELD(Block, site);
  FIELD(Block, domain);
#undef FIELD
  EXPECT_NE(page.find(fmt::format("version {}", file_version)), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::heap
