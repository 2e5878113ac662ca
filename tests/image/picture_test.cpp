// Memory given to decoders is all they use, orientation, opacity and resizing by hand, and arenas.
#include "image/picture.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "image/tiles.hpp"
#include "platform/allocations.hpp"
#include "platform/arena.hpp"

namespace plimsoll {
namespace {

std::vector<uint8_t> file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
std::filesystem::path corpus(const char* format) {
  return std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/fuzz/corpus" / format;
}
std::vector<std::filesystem::path> all_pictures() {
  std::vector<std::filesystem::path> paths;
  for (const char* format : {"jpeg", "png", "webp"})
    for (const auto& entry : std::filesystem::directory_iterator(corpus(format)))
      paths.push_back(entry.path());
  return paths;
}

TEST(Picture, DecodersAllocateOutOfTheMemoryTheyAreGiven) {
  if (!allocations_counted()) GTEST_SKIP() << "nobody counts allocations here";
  size_t count = 0;
  for (const auto& path : all_pictures()) {
    const auto bytes = file(path);
    const PictureHeader header = read_picture_header(bytes);
    std::vector<uint8_t> memory(header.memory());
    const uint64_t before = allocations();
    decode_picture(bytes, header, memory);
    EXPECT_EQ(allocations(), before) << path;
    ++count;
  }
  EXPECT_GE(count, 20u);
}

TEST(Picture, WithoutWorkingMemoryDecodingIsRefused) {
  if (!allocations_counted()) GTEST_SKIP() << "arenas need the hook";
  for (const char* name : {"jpeg/jpeg-progressive.jpg", "png/png.png", "webp/webp-lossless.webp"}) {
    const auto bytes = file(corpus(name));
    PictureHeader header = read_picture_header(bytes);
    header.working = 100;
    std::vector<uint8_t> memory(header.memory());
    EXPECT_THROW(decode_picture(bytes, header, memory), InputError) << name;
  }
}

TEST(Picture, MemoryThatIsTooSmallIsRefused) {
  const auto bytes = file(corpus("png/png.png"));
  const PictureHeader header = read_picture_header(bytes);
  std::vector<uint8_t> memory(header.memory() - 1);
  EXPECT_THROW(decode_picture(bytes, header, memory), Error);
}

TEST(Picture, AJpegIsShrunkAsFarAsEnoughIsLeft) {
  const auto bytes = file(corpus("jpeg/jpeg.jpg"));
  const PictureHeader whole = read_picture_header(bytes);
  const int64_t longest = std::max(whole.width, whole.height);
  for (const int by : {1, 2, 4, 8}) {
    const PictureHeader header = read_picture_header(bytes, {}, longest / by);
    EXPECT_EQ(header.shrunk, by);
    EXPECT_EQ(header.full_width, whole.width);
    EXPECT_EQ(header.width, (whole.width + by - 1) / by);
    std::vector<uint8_t> memory(header.memory());
    const auto rgb = decode_picture(bytes, header, memory);
    ASSERT_EQ(rgb.size(), header.pixels() * 3);
    if (by == 8) continue;  // one row is left, of blocks that reach beyond the picture
    // The mean colour stays what it is.
    double mean = 0, wanted = 0;
    for (const uint8_t byte : rgb) mean += byte;
    std::vector<uint8_t> all(whole.memory());
    const auto full = decode_picture(bytes, whole, all);
    for (const uint8_t byte : full) wanted += byte;
    EXPECT_NEAR(mean / double(rgb.size()), wanted / double(full.size()), 6) << by;
  }
  EXPECT_EQ(read_picture_header(file(corpus("png/png.png")), {}, 1).shrunk, 1);
}

TEST(Arena, GivesItsBytesAndNoMore) {
  if (!allocations_counted()) GTEST_SKIP() << "arenas need the hook";
  std::vector<uint8_t> bytes(1000);
  void* outside = malloc(10);
  {
    const platform::Arena arena(bytes);
    auto* first = static_cast<uint8_t*>(malloc(100));
    ASSERT_TRUE(first >= bytes.data() && first + 100 <= bytes.data() + bytes.size());
    std::memset(first, 7, 100);
    auto* more = static_cast<uint8_t*>(realloc(first, 300));
    ASSERT_TRUE(more && more[99] == 7);
    EXPECT_EQ(malloc(1000), nullptr);
    volatile size_t much = SIZE_MAX / 2;  // beyond what the compiler looks through
    EXPECT_EQ(calloc(much, 4), nullptr);
    void* last = malloc(400);
    ASSERT_TRUE(last);
    EXPECT_EQ(malloc(400), nullptr);
    free(last);
    EXPECT_EQ(malloc(400), last);  // the last one comes back
    free(outside);                 // what is not the arena's is freed as ever
  }
}

TEST(Resize, OfTheSameSizeIsACopyAndOfOneColourIsThatColour) {
  std::vector<uint8_t> in(30 * 20 * 3, 77), same(in.size()), larger(90 * 31 * 3);
  for (size_t i = 0; i < in.size(); i += 7) in[i] = uint8_t(i);
  std::vector<uint8_t> memory(resize_memory({30, 20}, {90, 31}));
  resize(in.data(), {30, 20}, same.data(), {30, 20}, memory);
  EXPECT_EQ(in, same);
  std::fill(in.begin(), in.end(), 77);
  resize(in.data(), {30, 20}, larger.data(), {90, 31}, memory);
  EXPECT_EQ(larger, std::vector<uint8_t>(larger.size(), 77));
}

TEST(Tiles, GridsAreThoseOfTheProcessor) {
  const TileSettings settings;  // SmolVLM: 2048 and 512
  const auto grid = [&](int64_t width, int64_t height) {
    const TileGrid g = tile_grid(settings, {width, height});
    return std::vector<int64_t>{g.rows, g.columns, g.tiles()};
  };
  EXPECT_EQ(grid(386, 386), (std::vector<int64_t>{4, 4, 17}));
  EXPECT_EQ(grid(1000, 500), (std::vector<int64_t>{2, 4, 9}));
  EXPECT_EQ(grid(100, 1000), (std::vector<int64_t>{4, 1, 5}));
  TileSettings whole = settings;
  whole.split = false;
  EXPECT_EQ(tile_grid(whole, {1000, 500}).tiles(), 1);
}

TEST(Tiles, SettingsThatMeanOtherPixelsAreRefused) {
  for (const char* text :
       {"", "[]", R"({"resample": 3})", R"({"do_convert_rgb": false})", R"({"size": {"longest_edge": 0}})",
        R"({"size": {}})", R"({"image_processor": []})", R"({"image_processor": {"resample": 3}})",
        R"({"image_std": [1, 0, 1]})", R"({"max_image_size": {"longest_edge": 1e9}})"})
    EXPECT_THROW(parse_tile_settings(text), InputError) << text;
}

TEST(Tiles, SettingsMayStandWithinThoseOfAProcessor) {
  const TileSettings read = parse_tile_settings(
      R"({"image_processor": {"max_image_size": {"longest_edge": 32}}, "image_seq_len": 4})");
  EXPECT_EQ(read.tile, 32);
}

}  // namespace
}  // namespace plimsoll
