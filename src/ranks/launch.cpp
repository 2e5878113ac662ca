#include "ranks/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "platform/machine.hpp"

namespace plimsoll::ranks {
namespace {

std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end || value < 0) return std::nullopt;
  return value;
}

struct Names {
  const char *launcher, *rank, *size, *local_rank, *local_size;
};
// Those of an MPI come first: under srun they are set beside Slurm's own.
constexpr Names known[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
};

}  // namespace

Launch read_launch(const Environment& environment) {
  Launch launch;
  for (const Names& names : known) {
    const auto rank = number(environment, names.rank), size = number(environment, names.size);
    if (!rank || !size || *rank >= *size) continue;
    launch.rank = *rank, launch.size = *size;
    launch.local_rank = number(environment, names.local_rank).value_or(0);
    launch.local_size = std::max(1, number(environment, names.local_size).value_or(1));
    launch.launcher = names.launcher;
    break;
  }
  if (const char* job = environment("SLURM_JOB_ID")) launch.job = job;
  return launch;
}

std::string file_of_rank(const std::string& file, const Launch& launch) {
  if (!launch.parallel() || file.empty()) return file;
  const std::filesystem::path path(file);
  const std::string ending = "-rank" + std::to_string(launch.rank);
  if (path.stem().string().ends_with(ending)) return file;
  return (path.parent_path() / path.stem()).string() + ending + path.extension().string();
}

std::vector<std::pair<std::string, std::string>> labels(const Launch& launch) {
  if (!launch.parallel()) return {};
  std::vector<std::pair<std::string, std::string>> all = {{"rank", std::to_string(launch.rank)},
                                                          {"ranks", std::to_string(launch.size)},
                                                          {"node", platform::host_name()}};
  if (!launch.job.empty()) all.emplace_back("job", launch.job);
  return all;
}

Launch read_launch() {
  return read_launch([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace plimsoll::ranks
