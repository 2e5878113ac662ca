#include "watch/step_track.hpp"

#include <gtest/gtest.h>

#include "watch/step_rate.hpp"

namespace plimsoll::watch {

using observe::Recognised;
using observe::StepSource;

TEST(StepTrack, TellsWhatIsNew) {
  StepTrack track;
  EXPECT_FALSE(track.reached().step);
  auto news = track.take({StepSource::words, 5, "train"}, 1);
  EXPECT_TRUE(news.step && news.phase);
  news = track.take({StepSource::words, 5, "train"}, 2);
  EXPECT_FALSE(news.step || news.phase) << "the same step and phase once more";
  news = track.take({StepSource::words, 6, ""}, 3);
  EXPECT_TRUE(news.step);
  EXPECT_FALSE(news.phase) << "no phase was said";
  EXPECT_EQ(track.reached().step, 6);
  EXPECT_EQ(track.reached().phase, "train");
}

TEST(StepTrack, PhasesEndWhereTheNextBegins) {
  StepTrack track;
  track.take({StepSource::socket, 1, "train"}, 1);
  track.take({StepSource::socket, 2, "validate"}, 4);
  track.end(9);
  ASSERT_EQ(track.phases().size(), 2u);
  EXPECT_EQ(track.phases()[0].end, 4);
  EXPECT_EQ(track.phases()[1].begin, 4);
  EXPECT_EQ(track.phases()[1].end, 9);
}

TEST(StepTrack, PhasesOfWeeksStayBounded) {
  StepTrack track;
  for (int i = 0; i < 100'000; ++i) track.take({StepSource::none, {}, i % 2 ? "train" : "validate"}, i);
  EXPECT_LE(track.phases().size(), 1000u);
  EXPECT_EQ(track.phases().back().begin, 99'999);
}

TEST(StepTrack, AMoreTrustedSourceBeginsAnew) {
  StepTrack track;
  for (int i = 0; i < 10; ++i) track.take({StepSource::bar, 1000 + i, ""}, i);
  track.take({StepSource::socket, 3, ""}, 20);
  EXPECT_EQ(track.marks().size(), 1u) << "what the bar counted is not what the socket counts";
}

TEST(StepRate, OfACountThatStartsOver) {
  StepRate rate;
  EXPECT_FALSE(rate.rate());
  rate.see(100, 10);
  EXPECT_FALSE(rate.rate()) << "one step says nothing";
  rate.see(140, 20);
  EXPECT_DOUBLE_EQ(*rate.rate(), 4);
  rate.see(0, 30), rate.see(20, 40);
  EXPECT_DOUBLE_EQ(*rate.rate(), 2);
}

}  // namespace plimsoll::watch
