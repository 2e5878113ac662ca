// One verdict from the tree and its lines.
#include "diagnose/join.hpp"

#include <gtest/gtest.h>

namespace plimsoll::diagnose {
namespace {

SiteReport answering(Answer answer, std::optional<size_t> site = {}) {
  SiteReport report;
  report.answer = answer;
  report.reason = "train.py:5 load holds more and more";
  report.sites.resize(2);
  report.sites[1].rate = 2e6;
  report.answer_site = site;
  return report;
}

verdict::Verdict tree_of(verdict::Kind kind) {
  verdict::Verdict tree;
  tree.kind = kind;
  tree.rate = 5e6, tree.floor_end = 100e6, tree.limit_bytes = 300e6;
  tree.sentence = "as it was";
  return tree;
}

TEST(Join, ALineThatLeaksMakesTheTreeLeak) {
  verdict::Verdict tree = tree_of(verdict::Kind::no_leak);
  join(tree, answering(Answer::leak, 1));
  EXPECT_EQ(tree.kind, verdict::Kind::leak);
  EXPECT_DOUBLE_EQ(tree.rate, 2e6);
  EXPECT_DOUBLE_EQ(tree.seconds_to_limit.value_or(0), 100);
  EXPECT_EQ(tree.sentence, "Leak: train.py:5 load holds more and more, 2.00 MB more per second.");
}

TEST(Join, TheLineOfTheAnswerComesFirstWithARateOfItsOwn) {
  SiteReport report = answering(Answer::undecided);
  report.sites[0].place.function = "load", report.sites[0].grown = 30e6;
  report.sites[0].held = {{0, 0}, {10, 30e6}};
  report.sites[1].place.function = "other", report.sites[1].rate = 1e6;
  report.sites[0].pids = report.sites[1].pids = {1};
  adopt({Answer::leak, "because", 0}, 512 << 10, report);
  EXPECT_EQ(report.answer_site, 0u);
  EXPECT_EQ(report.sites[0].place.function, "load");
  EXPECT_DOUBLE_EQ(report.sites[0].rate, 3e6);
  EXPECT_DOUBLE_EQ(report.sites[0].share, 0.75);
  EXPECT_EQ(report.sites[0].verdict.kind, verdict::Kind::leak);
}

TEST(Join, WhatFillsOrIsRetainedIsNoLeak) {
  verdict::Verdict filling = tree_of(verdict::Kind::leak), retained = filling, full = filling;
  join(filling, answering(Answer::filling, 0));
  join(retained, answering(Answer::retained));
  join(full, answering(Answer::no_leak, 0));
  EXPECT_EQ(filling.kind, verdict::Kind::undecided);
  EXPECT_EQ(retained.kind, verdict::Kind::no_leak);
  EXPECT_EQ(full.kind, verdict::Kind::no_leak);
}

TEST(Join, WhatWholeEpochsTellDecidesAnUndecidedTree) {
  verdict::Verdict tree = tree_of(verdict::Kind::undecided);
  tree.needs_seconds = 44;
  join(tree, answering(Answer::no_leak, 0));
  EXPECT_EQ(tree.kind, verdict::Kind::no_leak);
  EXPECT_EQ(tree.needs_seconds, 0);
  EXPECT_EQ(tree.sentence.rfind("No leak: ", 0), 0u) << tree.sentence;
}

// The tree has too few samples to be judged, and epochs tell of a line.
TEST(Join, TheFiguresOfATreeThatWasNotJudgedAreThoseOfTheLine) {
  verdict::Verdict tree = tree_of(verdict::Kind::undecided);
  tree.floor_start = tree.floor_end, tree.needs_seconds = 27;
  SiteReport report = answering(Answer::leak, 1);
  report.sites[1].held = {{2, 0}, {12, 20e6}}, report.sites[1].grown = 20e6;
  report.sites[1].verdict.onset = 2;
  join(tree, report);
  EXPECT_DOUBLE_EQ(tree.floor_end - tree.floor_start, 20e6);
  EXPECT_EQ(tree.judged_from, 2);
  EXPECT_EQ(tree.judged_until, 12);
  EXPECT_GT(tree.confidence, 0.9);
  EXPECT_LT(tree.rate_low, tree.rate);
  EXPECT_GT(tree.rate_high, tree.rate);
  EXPECT_EQ(tree.needs_seconds, 0);
}

TEST(Join, NoLineIsAccusedWhereTheAnswerIsNoLeak) {
  for (const Answer answer : {Answer::filling, Answer::retained, Answer::no_leak, Answer::undecided}) {
    SiteReport report = answering(Answer::undecided);
    report.sites[1].verdict.kind = verdict::Kind::leak;
    adopt({answer, "because", 0}, 512 << 10, report);
    EXPECT_EQ(report.sites[1].verdict.kind == verdict::Kind::leak, answer == Answer::undecided);
  }
}

TEST(Join, WhereTheyAgreeOrTheLinesDoNotKnowNothingChanges) {
  for (const auto& [kind, answer] :
       {std::pair(verdict::Kind::leak, Answer::leak), std::pair(verdict::Kind::leak, Answer::undecided),
        std::pair(verdict::Kind::no_leak, Answer::no_leak),
        std::pair(verdict::Kind::undecided, Answer::filling)}) {
    verdict::Verdict tree = tree_of(kind);
    join(tree, answering(answer, 1));
    EXPECT_EQ(tree.kind, kind);
    EXPECT_EQ(tree.sentence, "as it was");
  }
}

// Process 7 existed twice; the second is seen last.
History two_lives() {
  History history;
  for (const uint64_t start : {70, 90}) {
    observe::Snapshot snapshot;
    snapshot.time = double(start);
    observe::Process process;
    process.id = {7, start}, process.parent = 1, process.state = 'S', process.owned = 100 << 20;
    process.name = start == 70 ? "sh" : "python";
    snapshot.processes.push_back(process);
    history.add(snapshot);
  }
  return history;
}

TEST(Join, TheHolderOfALineThatLeaksIsBlamed) {
  const History history = two_lives();
  Judgement judgement;
  judgement.verdict = tree_of(verdict::Kind::no_leak);
  SiteReport report = answering(Answer::leak, 1);
  report.sites[1].pids = {7};
  std::swap(report.sites[0], report.sites[1]), report.answer_site = 0;
  join(judgement, history, report);
  ASSERT_TRUE(judgement.culprit);
  EXPECT_EQ(judgement.culprit_id, (proc::ProcessId{7, 90}));
  EXPECT_EQ(judgement.culprit->name, "python");
  EXPECT_DOUBLE_EQ(judgement.culprit->rate, 2e6);
  EXPECT_NE(judgement.next.find("look at"), std::string::npos) << judgement.next;

  Judgement shared;
  shared.verdict = tree_of(verdict::Kind::no_leak);
  report.sites[0].pids = {7, 8};
  join(shared, history, report);
  EXPECT_FALSE(shared.culprit);  // no single one
}

TEST(Join, WithoutALeakNobodyIsBlamedAndNothingNeedsDoing) {
  Judgement judgement;
  judgement.verdict = tree_of(verdict::Kind::leak);
  judgement.culprit.emplace().pid = 7;
  judgement.next = "find the line";
  join(judgement, two_lives(), answering(Answer::retained));
  EXPECT_EQ(judgement.verdict.kind, verdict::Kind::no_leak);
  EXPECT_FALSE(judgement.culprit);
  EXPECT_EQ(judgement.next, "");
}

}  // namespace
}  // namespace plimsoll::diagnose
