// The moments of all ranks as rank 0 saves them: tensor by tensor, each rank's part in its turn, through a small buffer.
//
//   if (team.first()) store.save(...), stream.drain();   // reads stream.next() until all is there
//   else stream.serve();
#pragma once
#include <vector>

#include "checkpoint/store.hpp"
#include "ranks/communicator.hpp"

namespace plimsoll {

class MomentStream final : public TensorSource {
 public:
  // On all ranks at once; `slots` are what each has.
  MomentStream(const ranks::Team& team, const std::vector<TensorSlot>& slots);

  // On rank 0. Empty at the end, too, and where another rank is lost: drain() then says so.
  std::span<const std::byte> next() noexcept override;
  // Takes what nobody asked for, so that the next save begins at the first tensor; RankLost.
  void drain();
  // On the others: sends what rank 0 asks for, in its order.
  void serve() const;

 private:
  struct Part {
    int rank;
    uint64_t bytes;
  };
  static constexpr uint64_t buffer_bytes = 1 << 20;

  ranks::Team team_;
  std::vector<TensorSlot> own_;
  std::vector<Part> parts_;       // of rank 0: all tensors', in the order of their bytes
  std::vector<size_t> own_slot_;  // by part: the slot of rank 0 it is
  std::vector<std::byte> buffer_;
  size_t part_ = 0;
  uint64_t done_ = 0;  // bytes of the part
  std::string lost_;
};

}  // namespace plimsoll
