// Which process of a parallel job this is, as its launcher says in the environment: mpirun of Open MPI or MPICH, srun,
// torchrun. Read, never guessed: a process that nobody launched in parallel is rank 0 of 1.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::ranks {

struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among those of its node, as far as that is known
  std::string launcher;                // "Open MPI", "MPICH", "Slurm", "torchrun"; empty: none
  std::string job;                     // Slurm's number of the job; empty: none

  bool parallel() const { return size > 1; }
};

// A file of its own for each rank: "run.db" becomes "run-rank17.db". Unchanged for a process that was launched alone.
std::string file_of_rank(const std::string& file, const Launch& launch);
// What the record of one rank says of it, key and value: rank, ranks, node and, where there is one, job. Nothing for a process
// that was launched alone.
std::vector<std::pair<std::string, std::string>> labels(const Launch& launch);

// The value of an environment variable; null where it is not set.
using Environment = std::function<const char*(const char*)>;
Launch read_launch(const Environment& environment);
Launch read_launch();  // of this process

}  // namespace plimsoll::ranks
