// The reader of heap files: what is right is read, what is wrong is refused, whatever is written.
#include "heap/reader.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "heap/heap_file_maker.hpp"

namespace plimsoll::heap {
namespace {

Reader reader_of(std::string bytes) {
  auto held = std::make_shared<std::string>(std::move(bytes));
  return Reader(
      [held](uint64_t offset, void* to, size_t wanted) -> size_t {
        if (offset >= held->size()) return 0;
        const size_t got = std::min<size_t>(wanted, held->size() - offset);
        std::memcpy(to, held->data() + offset, got);
        return got;
      },
      held->size());
}

TEST(Reader, SumsBlocksBySiteAndWalksTheirStacks) {
  HeapFileMaker made;
  const uint32_t outer = made.python("/data/a/train.py", "main", 10),
                 inner = made.python("/data/a/train.py", "step", 57);
  const uint32_t site = made.site({outer, inner});
  const uint32_t other = made.site({outer});
  made.block(0x1000, 1000, 500000, 30, site);
  made.block(0x2000, 1000, 500000, 20, site);
  made.block(0x3000, 1 << 20, 1 << 20, 40, other, Domain::mapping);
  made.block(0x4000, 7, 7, 7, 0);  // free
  Reader reader = reader_of(made.bytes());
  ASSERT_TRUE(reader.refresh()) << reader.error();
  ASSERT_EQ(reader.live().size(), 2u);
  const LiveSite& first = reader.live()[0];
  EXPECT_EQ(first.site, site);
  EXPECT_EQ(first.bytes, 1000000u);
  EXPECT_EQ(first.blocks, 1000u);
  EXPECT_EQ(first.samples, 2u);
  EXPECT_EQ(first.oldest, 20u);
  EXPECT_EQ(first.footprint, 1008u * 1000);
  EXPECT_EQ(reader.mapping_bytes(), 1u << 20);
  const auto stack = reader.stack(site);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(reader.frame(stack[0]).function, "step");
  EXPECT_EQ(reader.frame(stack[0]).line, 57u);
  EXPECT_EQ(reader.frame(stack[1]).function, "main");
  EXPECT_EQ(reader.frame(stack[1]).file, "/data/a/train.py");
}

TEST(Reader, RefusesWhatIsNoHeapFile) {
  const std::string good = HeapFileMaker().bytes();
  auto refused = [](std::string bytes) {
    Reader reader = reader_of(std::move(bytes));
    const bool read = reader.refresh();
    EXPECT_EQ(read, reader.error().empty());
    return !read;
  };
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(good.substr(0, 100)));
  EXPECT_TRUE(refused(good.substr(0, good.size() - 1)));
  std::string other = good;
  other[0] = 'X';
  EXPECT_TRUE(refused(other));
  other = good;
  other[8] = 9;  // version
  EXPECT_TRUE(refused(other));
}

// A file that is cut off between two looks: what is known of its sites is not lost with it.
TEST(Reader, KeepsWhatItReadWhereALaterReadIsShort) {
  HeapFileMaker made;
  const uint32_t site = made.site({made.python("/a/train.py", "step", 57)});
  made.block(0x1000, 1 << 20, 1 << 20, 30, site);
  const std::string bytes = made.bytes();
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (const uint64_t short_at : {header.blocks.offset, header.sites.offset}) {
    bool cut = false;
    Reader reader(
        [&](uint64_t offset, void* to, size_t wanted) -> size_t {
          if (cut && offset == short_at) wanted /= 2;
          std::memcpy(to, bytes.data() + offset, wanted);
          return wanted;
        },
        bytes.size());
    ASSERT_TRUE(reader.refresh()) << reader.error();
    cut = true;
    EXPECT_FALSE(reader.refresh());
    EXPECT_NE(reader.error().find("ends inside"), std::string::npos) << reader.error();
    ASSERT_EQ(reader.live().size(), 1u);
    ASSERT_EQ(reader.stack(site).size(), 1u);
    EXPECT_EQ(reader.frame(reader.stack(site)[0]).line, 57u);
    EXPECT_EQ(reader.blocks().size(), 2u);
    EXPECT_EQ(reader.sites().size(), 2u);
  }
}

TEST(Reader, RefusesTablesThatReachOutside) {
  const std::string good = HeapFileMaker().bytes();
  for (Table Header::*table :
       {&Header::text, &Header::modules, &Header::frames, &Header::nodes, &Header::sites, &Header::blocks})
    for (int change = 0; change < 4; ++change) {
      std::string bad = good;
      Header header;
      std::memcpy(&header, bad.data(), sizeof header);
      Table& t = header.*table;
      if (change == 0) t.offset = bad.size();
      if (change == 1) t.capacity = 0xffffffff;
      if (change == 2) t.used = t.capacity + 1;
      if (change == 3) t.offset = UINT64_MAX - 8;
      std::memcpy(bad.data(), &header, sizeof header);
      Reader reader = reader_of(bad);
      EXPECT_FALSE(reader.refresh()) << change;
    }
}

TEST(Reader, EndsOnStacksThatRunInCircles) {
  HeapFileMaker made;
  const uint32_t frame = made.python("a", "f", 1);
  const uint32_t site = made.site({frame, frame});
  made.block(1, 1, 1, 1, site);
  made.node(2).parent = 2;
  Reader reader = reader_of(made.bytes());
  ASSERT_TRUE(reader.refresh());
  EXPECT_EQ(reader.stack(site).size(), 1u);
  made.node(1).parent = 2;
  made.node(2).parent = 1;
  Reader again = reader_of(made.bytes());
  ASSERT_TRUE(again.refresh());
  EXPECT_EQ(again.stack(site).size(), 2u);
}

TEST(Reader, ABlockOfASiteThatDoesNotExistIsLeftOut) {
  HeapFileMaker made;
  const uint32_t last = made.site({made.python("a.py", "f", 1)});
  made.block(64, 100, 1000, 1, last);
  for (const uint32_t site : {0u, last + 1, last + 2, UINT32_MAX}) made.block(128, 100, 1000, 1, site);
  Reader reader = reader_of(made.bytes());
  ASSERT_TRUE(reader.refresh()) << reader.error();
  const auto live = reader.live();
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(live[0].site, last);
  EXPECT_EQ(live[0].samples, 1u);
}

TEST(Reader, SurvivesRandomDamage) {
  HeapFileMaker made;
  std::vector<uint32_t> frames;
  for (uint32_t i = 0; i < 20; ++i) frames.push_back(made.python("file" + std::to_string(i), "f", i));
  for (uint32_t i = 1; i < 20; ++i)
    made.block(i * 64, i * 100, i * 1000, i, made.site({frames.begin(), frames.begin() + i}));
  const std::string good = made.bytes();
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 12; ++i) {
      const size_t at = round % 2 ? random() % bad.size() : random() % sizeof(Header);
      bad[at] = char(random());
    }
    Reader reader = reader_of(bad);
    if (!reader.refresh()) continue;
    for (const LiveSite& site : reader.live())
      for (const uint32_t frame : reader.stack(site.site)) reader.module(reader.frame(frame).module);
  }
}

}  // namespace
}  // namespace plimsoll::heap
