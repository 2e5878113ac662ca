// Messages by MPI. The library is opened at run time, through the module built for it (ranks/mpi), and only by a process that
// was launched in parallel.
#pragma once
#include <memory>

#include "ranks/communicator.hpp"
#include "ranks/launch.hpp"

namespace plimsoll::ranks {

// Null for a process that was launched alone. InputError where there is no module for the MPI that launched it.
std::unique_ptr<Communicator> open_communicator(const Launch& launch);

}  // namespace plimsoll::ranks
