// Notices when another rank dies, hangs or cannot be reached any more. MPI waits for such a rank forever. So every rank has
// a connection to rank 0 beside it, on which a thread says twice a second that it is alive: a process that dies closes
// it, one that is stopped or cut off falls silent. Rank 0 tells the others whom they have lost.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ranks/communicator.hpp"

namespace plimsoll::ranks {

class Vigil {
 public:
  // On all ranks at once. Null where a rank cannot connect to rank 0: then only MPI can tell.
  static std::unique_ptr<Vigil> begin(const Team& team);
  ~Vigil();
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  // Whether a rank is lost, and what to say of it. A rank that does not look is ended by the thread after a while.
  bool lost() const { return lost_.load(std::memory_order_acquire) != none; }
  std::string what() const;
  // An orderly end: from now on ranks may leave.
  void finish() { finishing_ = true; }

  // Said with the loss, by whoever says it.
  void set_advice(std::string advice) { advice_ = std::move(advice); }

 private:
  static constexpr int none = -1;
  struct Peer {
    int rank = 0, socket = -1;
    double heard = 0;  // when
  };
  Vigil(const Team& team, std::vector<std::string> hosts, std::vector<Peer> peers);
  void watch();
  void hear(Peer& peer, double now);
  void lose(int rank, bool silent);
  void leave_in_time(double now);

  const int rank_;
  const std::vector<std::string> hosts_;  // by rank
  std::vector<Peer> peers_;               // of rank 0 all others, of the others rank 0
  std::string advice_;
  std::atomic<int> lost_{none};
  std::atomic<bool> silent_{false};  // it fell silent; else it left
  std::atomic<bool> finishing_{false}, stop_{false};
  double lost_since_ = 0;
  std::thread thread_;
};

}  // namespace plimsoll::ranks
