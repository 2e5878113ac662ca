#include "record/run_record.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "base/footprint.hpp"
#include "record/folder.hpp"
#include "record/run_reader.hpp"
#include "record/run_rows.hpp"

namespace plimsoll {

TEST(RunRecord, EveryTableComesBackAsWritten) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {.kind = RunKind::watch, .machine = "a machine"});
    record.configuration("batch", "1");
    record.configuration("batch", "12");
    record.configuration("name", "it's \"quoted\"\n");
    record.step({.step = 1, .time = 0.5, .loss = 3.5, .learning_rate = 1e-3, .gradient_norm = 2});
    record.step({.step = 2, .time = 0.75, .loss = unknown_real});
    record.evaluation({.step = 2, .time = 0.8, .loss = 3.25, .floor = 1.5});
    record.memory({.time = 0.25, .rss = 100});
    record.phase("validate", 0.5);
    record.memory({.time = 0.75,
                   .step = 2,
                   .rss = 300,
                   .pss = 200,
                   .limit = 1000,
                   .available = 700,
                   .pressure = 1.5,
                   .pss_interpolated = true});
    const int64_t parent =
        record.process({.pid = 10, .start_time = 77, .first_seen = 0.1, .name = "sh", .role = "wrapper"});
    const int64_t child = record.process({.pid = 11,
                                          .start_time = 78,
                                          .parent = parent,
                                          .first_seen = 0.2,
                                          .name = "python3",
                                          .arguments = "train.py --key ***"});
    record.process_role(child, "main");
    record.process_sample(
        {.process = child, .time = 0.3, .rss = 50, .pss = 40, .threads = 3, .descriptors = 9, .cpu = 0.25});
    record.process_ended(parent, 0.9);
    record.event("guard", "paused", 0.6);
    record.plan({.name = "wte", .role = "parameter", .offset = 64, .bytes = 128, .first = 0, .last = 9});
    record.verdict("{\"verdict\":\"no-leak\"}", 1.0);
    EXPECT_EQ(record.error(), "");
  }
  EXPECT_FALSE(std::filesystem::exists(path.string() + "-wal"));
  RunReader reader(path);
  EXPECT_EQ(reader.run().kind, "watch");
  EXPECT_EQ(reader.run().machine, "a machine");
  EXPECT_EQ(reader.run().started.size(), 20u);
  ASSERT_EQ(reader.configuration().size(), 2u);
  EXPECT_EQ(reader.configuration()[0].second, "12");
  EXPECT_EQ(reader.configuration()[1].second, "it's \"quoted\"\n");
  const auto steps = reader.steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].loss, 3.5);
  EXPECT_EQ(steps[0].learning_rate, 1e-3);
  EXPECT_EQ(steps[0].gradient_norm, 2);
  EXPECT_TRUE(std::isnan(steps[0].tokens_per_second));
  EXPECT_TRUE(std::isnan(steps[1].loss));
  ASSERT_EQ(reader.evaluations().size(), 1u);
  EXPECT_EQ(reader.evaluations()[0].floor, 1.5);
  const auto memory = reader.memory();
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].phase, "");
  EXPECT_EQ(memory[0].pss, unknown_count);
  EXPECT_EQ(memory[1].phase, "validate");
  EXPECT_EQ(memory[1].available, 700);
  EXPECT_TRUE(memory[1].pss_interpolated);
  const auto processes = reader.processes();
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].role, "wrapper");
  EXPECT_EQ(processes[0].ended, 0.9);
  EXPECT_EQ(processes[1].parent, processes[0].id);
  EXPECT_EQ(processes[1].role, "main");
  EXPECT_TRUE(std::isnan(processes[1].ended));
  const auto samples = reader.process_samples();
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].process, processes[1].id);
  EXPECT_EQ(samples[0].descriptors, 9);
  EXPECT_EQ(samples[0].cpu, 0.25);
  EXPECT_EQ(footprint(reader.memory()[0]), 100);  // PSS where known,
  EXPECT_EQ(footprint(reader.memory()[1]), 200);  // else RSS
  EXPECT_EQ(footprint(samples[0]), 40);
  ASSERT_EQ(reader.phases().size(), 1u);
  EXPECT_EQ(reader.phases()[0].name, "validate");
  EXPECT_EQ(reader.events()[0].text, "paused");
  EXPECT_EQ(reader.plan()[0].bytes, 128);
  EXPECT_EQ(reader.verdicts().back().json, "{\"verdict\":\"no-leak\"}");
}

TEST(RunRecord, OnlyItsOwnerMayReadItWhateverTheMask) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  const mode_t before = umask(0);
  RunRecord record = RunRecord::create(path, {});
  record.step({.step = 1});
  record.commit();
  umask(before);
  using std::filesystem::perms;
  for (const char* end : {"", "-wal", "-shm"})
    EXPECT_EQ(std::filesystem::status(path.string() + end).permissions(),
              perms::owner_read | perms::owner_write)
        << end;
  // Where a link waits for the record, nothing is written to what it leads to.
  std::filesystem::create_symlink(folder.path / "victim", folder.path / "link.db");
  EXPECT_THROW(RunRecord::create(folder.path / "link.db", {}), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "victim"));
}

TEST(RunRecord, TheTotalOfAPlanIsTheTrainersOwn) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {});
    record.plan({.name = "wte", .role = "parameter", .offset = 64, .bytes = 128, .first = 0, .last = 9});
    EXPECT_EQ(plan_total({}, {{"wte", "parameter", 64, 128, 0, 9}}), 192);  // a record that does not say
    record.plan_role({"total", 1000});
    record.plan_role({"parameter", 128});
  }
  const RunRows rows = read_run_rows(path);
  EXPECT_EQ(plan_total(rows.plan_roles, rows.plan), 1000);
  { RunRecord::resume(path, {}, 0).clear_plan(); }
  EXPECT_EQ(read_run_rows(path).plan_roles.size(), 0u);
  EXPECT_EQ(run_name("runs/mine/run.db"), "mine/run.db");
  EXPECT_EQ(run_name("runs/mine/other.db"), "other.db");
}

TEST(RunRecord, AResumedRunGoesOnWithoutDoublingSteps) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  double before = 0;
  {
    RunRecord record = RunRecord::resume(path, {}, 0);  // no file yet: a new one
    record.phase("train");
    for (int i = 1; i <= 100; ++i) {
      record.step({.step = i, .time = i * 1.0, .loss = 1.0 * i});
      record.memory({.time = i * 1.0, .step = i, .rss = i});
    }
    record.evaluation({.step = 50});
    record.evaluation({.step = 100});
    before = 100;
  }
  {
    RunRecord record = RunRecord::resume(path, {}, 60);
    EXPECT_GE(record.now(), before);
    EXPECT_LT(record.now(), before + 60);  // time stood still while nothing ran
    for (int i = 61; i <= 80; ++i) record.step({.step = i, .loss = -1});
    record.phase("save");
    record.phase("train");
    record.memory({.rss = 1});
  }
  RunReader reader(path);
  const auto steps = reader.steps();
  ASSERT_EQ(steps.size(), 80u);
  for (size_t i = 0; i < 80; ++i) {
    EXPECT_EQ(steps[i].step, static_cast<int64_t>(i) + 1);
    EXPECT_GE(steps[i].time, steps[i ? i - 1 : 0].time);
  }
  EXPECT_EQ(steps[60].loss, -1);
  EXPECT_EQ(reader.evaluations().size(), 1u);
  EXPECT_EQ(reader.memory().size(), 61u);
  EXPECT_EQ(reader.memory().back().phase, "train");
  ASSERT_EQ(reader.sessions().size(), 2u);
  EXPECT_EQ(reader.sessions()[1].step, 60);
  EXPECT_EQ(reader.sessions()[1].time, before);
}

TEST(RunRecord, WhatIsNotARunFileIsRefusedAndLeftAlone) {
  test::Folder folder;
  const auto text = folder.path / "notes.db";
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_THROW(RunReader{text}, InputError);
  EXPECT_THROW(RunRecord::create(text, {}), InputError);
  EXPECT_THROW(RunRecord::resume(text, {}, 0), InputError);
  EXPECT_EQ(std::filesystem::file_size(text), 5000u);

  const auto foreign = folder.path / "foreign.db";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(foreign.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "CREATE TABLE t (x)", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_THROW(RunReader{foreign}, InputError);
  EXPECT_THROW(RunRecord::resume(foreign, {}, 0), InputError);

  EXPECT_THROW(RunReader{folder.path / "absent.db"}, InputError);
  EXPECT_THROW(RunReader{folder.path}, InputError);
  EXPECT_THROW(RunRecord::create(folder.path / "no" / "such" / "run.db", {}), InputError);
}

TEST(RunRecord, AnEmptyFileLeftByAKillIsBegunAnew) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  std::ofstream{path};
  { RunRecord::resume(path, {}, 7).step({.step = 8}); }
  EXPECT_EQ(RunReader(path).steps().size(), 1u);
}

TEST(RunRecord, ADamagedFileIsNamed) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {});
    for (int i = 0; i < 5000; ++i) record.step({.step = i});
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 * 14);
  file << std::string(4096 * 20, '\x5a');
  file.close();
  try {
    RunReader reader(path);
    reader.steps();
    FAIL() << "damage was not seen";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("run.db"), std::string::npos) << error.what();
  }
}

// Before steps had parts: what that version's files look like.
TEST(RunRecord, AFileWithoutThePartsOfALossIsReadAndResumed) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {});
    record.step({.step = 1, .time = 0.5, .loss = 3.5});
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  for (const char* sql :
       {"ALTER TABLE steps DROP COLUMN cross_entropy", "ALTER TABLE steps DROP COLUMN distrust"})
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  {
    const auto steps = RunReader(path).steps();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].loss, 3.5);
    EXPECT_TRUE(std::isnan(steps[0].cross_entropy) && std::isnan(steps[0].distrust));
  }
  {
    RunRecord record = RunRecord::resume(path, {}, 1);
    record.step({.step = 2, .time = 0.75, .loss = 3, .cross_entropy = 3.5, .distrust = -.5});
    EXPECT_EQ(record.error(), "");
  }
  const auto steps = RunReader(path).steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].cross_entropy, 3.5);
  EXPECT_EQ(steps[1].distrust, -.5);
  EXPECT_TRUE(std::isnan(steps[0].distrust));
}

}  // namespace plimsoll
