#include "diagnose/judgement.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/random.hpp"

namespace plimsoll::diagnose {

constexpr uint64_t mb = 1'000'000;

// A tree of wrapper 10, main 11 and twenty workers 20..39, each given by its bytes over time.
struct World {
  History history;
  verdict::Series tree{8192};
  double end = 0;

  explicit World(const std::function<double(int pid, double t)>& megabytes, int seconds = 600) {
    CounterRng noise(1, Stream::sampling);
    uint64_t draw = 0;
    for (int t = 0; t < seconds; ++t) {
      observe::Snapshot now;
      now.time = end = t;
      for (int pid :
           {10, 11, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}) {
        observe::Process p;
        p.id = {pid, 1};
        p.parent = pid == 10 ? 1 : pid == 11 ? 10 : 11;
        p.name = pid == 10 ? "uv" : pid == 11 ? "server" : "worker";
        p.state = 'S';
        p.owned = p.rss = uint64_t((megabytes(pid, t) + 0.2 * noise.uniform(draw++)) * double(mb));
        p.cpu_seconds = pid == 11 ? t : 0;
        now.bytes += p.owned;
        now.processes.push_back(p);
      }
      history.add(now);
      tree.add(t, now.bytes);
    }
  }
  Judgement judge() const { return judge_tree(tree, history, {.limit_bytes = 16e9}, end); }
};

double spiky(int pid, double t) {
  return pid == 10 ? 20 : pid == 11 ? 600 + (int(t) % 50 < 5 ? 400 : 0) : 40;
}

TEST(Judgement, NamesTheMainProcessUnderItsSpikes) {
  Judgement found =
      World([](int pid, double t) { return spiky(pid, t) + (pid == 11 ? 0.5 * t : 0); }).judge();
  ASSERT_EQ(found.verdict.kind, verdict::Kind::leak);
  ASSERT_TRUE(found.culprit);
  EXPECT_EQ(found.culprit->pid, 11);
  EXPECT_EQ(found.culprit->role, "main");
  EXPECT_GT(found.culprit->share, 0.9);
  EXPECT_NEAR(found.verdict.rate, 0.5e6, 0.1e6);
}

TEST(Judgement, NoLeakNoCulprit) {
  Judgement found = World(spiky).judge();
  EXPECT_NE(found.verdict.kind, verdict::Kind::leak);
  EXPECT_FALSE(found.culprit);
}

TEST(Judgement, OneOfTwentyWorkers) {
  Judgement found =
      World([](int pid, double t) { return spiky(pid, t) + (pid == 27 ? 0.4 * t : 0); }).judge();
  ASSERT_EQ(found.verdict.kind, verdict::Kind::leak);
  EXPECT_EQ(found.culprit->pid, 27);
  EXPECT_FALSE(found.culprit->pool);
  EXPECT_EQ(found.culprit->role, "worker pool");
}

TEST(Judgement, AllOfThemTogether) {
  Judgement found =
      World([](int pid, double t) { return spiky(pid, t) + (pid >= 20 ? 0.03 * t : 0); }).judge();
  ASSERT_EQ(found.verdict.kind, verdict::Kind::leak);
  EXPECT_TRUE(found.culprit->pool);
  EXPECT_NE(found.verdict.sentence.find("20 workers of pool worker, 5 % each"), std::string::npos)
      << found.verdict.sentence;
}

TEST(Judgement, EqualCulpritsAreNamedTogether) {
  Judgement found =
      World([](int pid, double t) { return spiky(pid, t) + (pid == 21 || pid == 33 ? 0.3 * t : 0); }).judge();
  ASSERT_EQ(found.verdict.kind, verdict::Kind::leak);
  EXPECT_TRUE(found.culprit->pool);
  EXPECT_EQ(found.culprit->members, 2);
  EXPECT_TRUE(found.culprit->pid == 21 || found.culprit->pid == 33) << found.culprit->pid;
  EXPECT_NE(found.verdict.sentence.find("2 of 20 workers of pool worker"), std::string::npos)
      << found.verdict.sentence;
  EXPECT_NE(found.next.find("worker"), std::string::npos) << found.next;
}

// Workers that end hand their part of shared pages to those who stay: a process grows, the tree does not.
TEST(Judgement, PagesThatLoseASharerAreNoLeak) {
  Judgement found = World([](int pid, double t) {
                      return pid == 11 ? 600 + 0.5 * t : pid == 20 ? 400 - 0.5 * t : spiky(pid, 20);
                    }).judge();
  EXPECT_NE(found.verdict.kind, verdict::Kind::leak);
  EXPECT_FALSE(found.culprit);
}

TEST(FloorSlope, IgnoresSpikes) {
  verdict::Series series(2048);
  for (int t = 0; t < 1000; ++t) series.add(t, uint64_t(1000 + 3 * t + (t % 17 == 0 ? 5000 : 0)));
  EXPECT_NEAR(floor_slope(series, 0, 999), 3, 0.1);
  EXPECT_EQ(floor_slope(series, 10, 10), 0);
  EXPECT_EQ(floor_slope(verdict::Series(16), 0, 10), 0);
}

}  // namespace plimsoll::diagnose
