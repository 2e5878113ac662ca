// Event files read back by hand: frames, checksums and the fields TensorBoard looks at.
#include "record/event_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

struct EventFiles : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("plimsoll-events-" + std::to_string(getpid()));
  void TearDown() override { fs::remove_all(folder); }
};

uint32_t unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

// The events of a file; every checksum is checked.
std::vector<std::string> events(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> found;
  for (size_t at = 0; at < all.size();) {
    uint64_t length = 0;
    uint32_t crc = 0;
    EXPECT_LE(at + 12, all.size());
    std::memcpy(&length, all.data() + at, 8);
    std::memcpy(&crc, all.data() + at + 8, 4);
    EXPECT_EQ(unmasked(crc), crc32c(all.data() + at, 8));
    EXPECT_LE(at + 16 + length, all.size());
    found.push_back(all.substr(at + 12, length));
    std::memcpy(&crc, all.data() + at + 12 + length, 4);
    EXPECT_EQ(unmasked(crc), crc32c(found.back().data(), length));
    at += 16 + length;
  }
  return found;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("", 0), 0u);
  const std::vector<uint8_t> zeros(32);
  EXPECT_EQ(crc32c(zeros.data(), zeros.size()), 0x8a9136aau);  // RFC 3720
}

TEST_F(EventFiles, BeginsWithTheVersionAndHoldsScalars) {
  EventFile file(folder);
  file.scalar("loss", 300, 1.5);
  const auto found = events(file.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].find("brain.Event:2"), std::string::npos);
  // step 300 as a varint, then summary { value { tag: "loss" simple_value: 1.5 } }
  const std::string step("\x10\xac\x02", 3), rest("\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\xc0\x3f", 15);
  EXPECT_EQ(found[1].substr(9), step + rest);
  EXPECT_TRUE(file.error().empty());
}

TEST_F(EventFiles, HoldsTextAndShortensItBetweenCharacters) {
  EventFile file(folder);
  std::string long_text(EventFile::longest_text - 1, 'a');
  long_text += "\xc3\xa4 and more";  // the two bytes of ä do not fit whole
  file.text("sample", 1, "short");
  file.text("sample", 2, long_text);
  const auto found = events(file.path());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[1].find("short"), std::string::npos);
  EXPECT_NE(found[1].find("text"), std::string::npos);
  EXPECT_NE(found[2].find(std::string(EventFile::longest_text - 1, 'a')), std::string::npos);
  EXPECT_EQ(found[2].substr(9).find('\xc3'), std::string::npos);  // behind the time, which is any bytes
}

TEST_F(EventFiles, AResumedRunBeginsAnotherFile) {
  EventFile first(folder), second(folder);
  EXPECT_NE(first.path(), second.path());
}

TEST_F(EventFiles, RefusesWhatCannotBeWritten) {
  fs::create_directories(folder);
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(EventFile(folder / "file"), InputError);
}

}  // namespace
}  // namespace plimsoll
