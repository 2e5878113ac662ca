#include "data/shapes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "image/picture.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class Shapes : public testing::Test {
 protected:
  fs::path folder_ = make_temporary_folder(fs::temp_directory_path() / "shapes-");
  ~Shapes() override { fs::remove_all(folder_); }
  std::vector<nlohmann::json> rows(const char* name) const {
    std::ifstream file(folder_ / "set" / name);
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
};

TEST_F(Shapes, EveryAnswerIsAsFrequentAsTheOthersAndTheChanceIsThat) {
  const ShapeSet set = write_shapes(folder_ / "set", 768, 1);
  EXPECT_EQ(set.rows, 768u);
  EXPECT_EQ(set.held_out, 256u);
  EXPECT_DOUBLE_EQ(set.chance, 0.25);
  for (const char* name : {"train.jsonl", "held-out.jsonl"}) {
    std::map<std::string, std::map<std::string, int>> counts;
    for (const auto& row : rows(name)) ++counts[row["text"]][row["response"]];
    ASSERT_EQ(counts.size(), size_t(shape_questions));
    for (const auto& [question, answers] : counts) {
      EXPECT_EQ(answers.size(), 4u) << question;
      for (const auto& [answer, count] : answers) EXPECT_EQ(count, answers.begin()->second) << name << answer;
    }
  }
}

TEST_F(Shapes, AQuarterOfTheCombinationsIsHeldOut) {
  int held_out = 0;
  for (int i = 0; i < 256; ++i) held_out += ShapeScene{i / 64, i / 16 % 4, i / 4 % 4 + 1, i % 4}.held_out();
  EXPECT_EQ(held_out, 64);
}

// Pixels that are not of the ground, by corner.
TEST_F(Shapes, WhatIsDrawnIsWhereItIsSaidToBe) {
  for (int corner = 0; corner < 4; ++corner)
    for (int shape = 0; shape < 4; ++shape) {
      const auto rgb = draw_shapes({shape, 1, 3, corner}, 7, uint64_t(corner));
      ASSERT_EQ(rgb.size(), size_t(3 * shape_picture_edge * shape_picture_edge));
      std::set<int> corners;
      int drawn = 0;
      for (int64_t y = 0; y < shape_picture_edge; ++y)
        for (int64_t x = 0; x < shape_picture_edge; ++x) {
          const uint8_t* pixel = &rgb[size_t(3 * (y * shape_picture_edge + x))];
          if (pixel[0] == pixel[1] && pixel[1] == pixel[2]) continue;
          ++drawn;
          corners.insert(int(2 * (y >= shape_picture_edge / 2) + (x >= shape_picture_edge / 2)));
        }
      EXPECT_EQ(corners, std::set<int>{corner});
      EXPECT_GT(drawn, 3 * 25);
    }
}

TEST_F(Shapes, TheSameSeedDrawsTheSameAndPicturesCanBeDecoded) {
  write_shapes(folder_ / "set", 4, 3);
  const std::string file = read_file(folder_ / "set/train/000002.png", 1 << 20);
  const std::span bytes(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  if (picture_formats().find("PNG") == std::string::npos) GTEST_SKIP() << "built without libpng";
  const PictureHeader header = read_picture_header(bytes);
  std::vector<uint8_t> memory(header.memory());
  const auto decoded = decode_picture(bytes, header, memory);
  // The second scene that is not held out.
  EXPECT_EQ(std::vector(decoded.begin(), decoded.begin() + 3 * 64 * 64), draw_shapes({0, 0, 1, 1}, 3, 2));
  EXPECT_THROW(write_shapes(folder_ / "set", 4, 3), InputError);
}

}  // namespace
}  // namespace plimsoll
