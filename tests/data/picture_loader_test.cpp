// Pictures come in the order of their requests with any number of threads, errors wait for the one who needs the picture, and no more
// is decoded ahead than there are slots.
#include "data/picture_loader.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll {
namespace {

class PictureLoading : public testing::Test {
 protected:
  PictureLoading() : folder_(make_temporary_folder(std::filesystem::temp_directory_path() / "loader-")) {
    PictureOptions options;
    options.tokens.settings = {.tile = 8, .longest_edge = 16};
    options.tokens.rows = 1;
    options.folder = folder_;
    options.buffer = 4'000'000;
    pictures_ = std::make_unique<Pictures>(options);
    const std::filesystem::path corpus = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/fuzz/corpus";
    for (const char* name : {"jpeg/jpeg.jpg", "png/png.png", "webp/webp.webp", "jpeg/jpeg-grey.jpg",
                             "png/png-alpha.png", "webp/webp-lossless.webp"}) {
      const std::filesystem::path source = corpus / name;
      std::filesystem::copy_file(source, folder_ / source.filename());
      Row row;
      row.text = picture_mark;
      row.pictures = {source.filename().string()};
      pictures_->add(row);
    }
    pictures_->finish();
  }
  ~PictureLoading() override { std::filesystem::remove_all(folder_); }

  std::vector<uint8_t> memory(int threads) const {
    return std::vector<uint8_t>(size_t(std::max(1, threads)) * pictures_->options().buffer);
  }
  std::vector<uint8_t> tiles(uint32_t picture) const {
    std::vector<uint8_t> buffer(pictures_->options().buffer);
    const auto loaded = pictures_->load(picture, buffer);
    return {loaded.begin(), loaded.end()};
  }

  std::filesystem::path folder_;
  std::unique_ptr<Pictures> pictures_;
};

TEST_F(PictureLoading, PicturesComeInTheOrderOfTheirRequests) {
  for (const int threads : {0, 1, 3, 8}) {
    std::vector<uint8_t> bytes = memory(threads);
    PictureLoader loader(*pictures_, bytes, threads);
    std::vector<uint32_t> wanted;
    for (uint32_t i = 0; i < 60; ++i) wanted.push_back(i * i % uint32_t(pictures_->size()));
    size_t asked = 0;
    for (const uint32_t picture : wanted) {
      for (; asked < wanted.size() && loader.has_room(); ++asked) loader.request(wanted[asked]);
      const auto made = loader.await();
      EXPECT_EQ(std::vector<uint8_t>(made.begin(), made.end()), tiles(picture)) << threads;
      loader.release();
    }
    EXPECT_EQ(loader.waiting(), 0u);
    EXPECT_GE(loader.seconds_awaited(), 0);
  }
}

TEST_F(PictureLoading, NoMoreIsDecodedAheadThanThereAreSlots) {
  for (const int threads : {0, 1, 3}) {
    std::vector<uint8_t> bytes = memory(threads);
    PictureLoader loader(*pictures_, bytes, threads);
    size_t asked = 0;
    for (; loader.has_room(); ++asked) loader.request(0);
    EXPECT_EQ(asked, size_t(std::max(1, threads)));
    EXPECT_EQ(loader.waiting(), asked);
    loader.await();
    EXPECT_FALSE(loader.has_room());  // its tiles are still in use
    loader.release();
    EXPECT_TRUE(loader.has_room());
  }
}

TEST_F(PictureLoading, AnErrorIsToldToTheOneWhoAwaitsThePicture) {
  const std::string broken = pictures_->name(1);
  std::ofstream(broken, std::ios::binary | std::ios::trunc) << "no picture";
  for (const int threads : {0, 1, 3}) {
    std::vector<uint8_t> bytes = memory(threads);
    PictureLoader loader(*pictures_, bytes, threads);
    size_t asked = 0;
    const std::vector<uint32_t> wanted{0, 1, 2, 1, 3};
    for (const uint32_t picture : wanted) {
      for (; asked < wanted.size() && loader.has_room(); ++asked) loader.request(wanted[asked]);
      if (picture == 1) {
        try {
          loader.await();
          ADD_FAILURE() << "a broken picture was loaded";
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find(broken), std::string::npos) << error.what();
        }
        continue;
      }
      const auto made = loader.await();
      EXPECT_EQ(std::vector<uint8_t>(made.begin(), made.end()), tiles(picture));
      loader.release();
    }
  }
}

TEST_F(PictureLoading, WhatWaitsIsComparedWithWhatIsWanted) {
  std::vector<uint8_t> bytes = memory(3);
  PictureLoader loader(*pictures_, bytes, 3);
  EXPECT_TRUE(loader.begins({}));
  loader.request(4);
  loader.request(2);
  const std::vector<uint32_t> same{4, 2, 5}, other{4, 3, 5}, shorter{4};
  EXPECT_TRUE(loader.begins(same));
  EXPECT_FALSE(loader.begins(other));
  EXPECT_FALSE(loader.begins(shorter));
  loader.drain();
  EXPECT_EQ(loader.waiting(), 0u);
  EXPECT_TRUE(loader.begins(other));
  loader.request(3);
  const auto made = loader.await();
  EXPECT_EQ(std::vector<uint8_t>(made.begin(), made.end()), tiles(3));
}

}  // namespace
}  // namespace plimsoll
