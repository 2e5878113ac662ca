#include "heap/memory_classes.hpp"

#include <gtest/gtest.h>

namespace plimsoll::heap {
namespace {

TEST(MemoryClasses, TellsMappingsByWhatTheyAreFor) {
  SmapsClassifier classifier;
  for (const char* line : {
           "55d0e0000000-55d0e0001000 r-xp 00000000 08:01 123   /usr/bin/python3",
           "Size:                  4 kB",
           "Pss:                  10 kB",
           "Pss_Dirty:            99 kB",
           "55d0e1000000-55d0e2000000 rw-p 00000000 00:00 0     [heap]",
           "Pss:                 200 kB",
           "7f0000000000-7f0000100000 rw-s 00000000 00:01 77    /dev/shm/torch_1 (deleted)",
           "Pss:                   3 kB",
           "7f0000200000-7f0000300000 rw-s 00000000 00:31 77    /tmp/plimsoll-heap-abc/1.0.heap",
           "Pss:                   5 kB",
           "7f0000400000-7f0000401000 ---p 00000000 00:00 0 ",
           "Pss:                   0 kB",
           "7f0000401000-7f0000c01000 rw-p 00000000 00:00 0 ",
           "Pss:                  64 kB",
           "7f0001000000-7f0001100000 rw-p 00000000 00:00 0 ",
           "Pss:                1000 kB",
           "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0     [stack]",
           "Pss:                  16 kB",
           "7ffd00100000-7ffd00102000 r-xp 00000000 00:00 0     [vdso]",
           "Pss:                   1 kB",
           "garbage",
           "Pss:                   nonsense",
       })
    classifier.add_line(line);
  const MemoryClasses& classes = classifier.classes();
  EXPECT_EQ(classes.file, 10u * 1024);
  EXPECT_EQ(classes.anonymous, 1200u * 1024);
  EXPECT_EQ(classes.shared, 3u * 1024);
  EXPECT_EQ(classes.stack, 80u * 1024);
  EXPECT_EQ(classes.other, 6u * 1024);
}

}  // namespace
}  // namespace plimsoll::heap
