// Who this process is, by what each launcher sets.
#include "ranks/launch.hpp"

#include <gtest/gtest.h>

#include <map>

namespace plimsoll::ranks {
namespace {

Launch with(const std::map<std::string, std::string>& variables) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, NobodySaidAnything) {
  const Launch launch = with({});
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
  EXPECT_FALSE(launch.parallel());
  EXPECT_EQ(launch.launcher, "");
}

TEST(Launch, EachLauncherIsUnderstood) {
  const Launch open = with({{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(open.rank, 3);
  EXPECT_EQ(open.size, 4);
  EXPECT_EQ(open.local_rank, 1);
  EXPECT_EQ(open.local_size, 2);
  EXPECT_EQ(open.launcher, "Open MPI");
  EXPECT_EQ(with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).launcher, "MPICH");
  EXPECT_EQ(with({{"RANK", "1"}, {"WORLD_SIZE", "2"}}).launcher, "torchrun");
  const Launch slurm = with({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_JOB_ID", "77"}});
  EXPECT_EQ(slurm.rank, 5);
  EXPECT_EQ(slurm.job, "77");
  EXPECT_EQ(with({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}})
                .launcher,
            "MPICH");
}

TEST(Launch, EveryRankHasAFileOfItsOwn) {
  const Launch alone = with({}), fourth = with({{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(file_of_rank("job/run.db", alone), "job/run.db");
  EXPECT_EQ(file_of_rank("job/run.db", fourth), "job/run-rank3.db");
  EXPECT_EQ(file_of_rank("job/run-rank3.db", fourth), "job/run-rank3.db");
  EXPECT_EQ(file_of_rank("", fourth), "");
  EXPECT_TRUE(labels(alone).empty());
  EXPECT_EQ(labels(fourth).front(), (std::pair<std::string, std::string>("rank", "3")));
}

TEST(Launch, WhatMakesNoSenseIsNotBelieved) {
  EXPECT_FALSE(with({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}).parallel());
  EXPECT_FALSE(with({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}).parallel());
  EXPECT_FALSE(with({{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}}).parallel());
  EXPECT_FALSE(with({{"RANK", "0"}}).parallel());
}

}  // namespace
}  // namespace plimsoll::ranks
