// Gradients are added up at their owners, along the tree of the leaves, in rounds of bounded size: two rounds are on their way
// at once. Rounds follow the order in which the backward pass completes gradients, so a courier can begin with the first of
// them while the pass goes on.
#pragma once
#include <array>
#include <vector>

#include "graph/op.hpp"
#include "ranks/courier.hpp"
#include "ranks/exchange.hpp"

namespace plimsoll::ranks {

// A complete subtree of the leaves whose sum one rank has.
struct Subtree {
  int rank, begin, end;
};
std::vector<Subtree> subtrees(const Exchange& exchange);

class Reduction {
 public:
  explicit Reduction(ExchangePointer exchange);
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  // Where a gradient is, as the first of the own leaves holds it, and where messages are received.
  void place(size_t parameter, const Operand& gradient) { gradients_[parameter] = gradient; }
  // While the courier works it reads both; every node of a step has the same.
  void place_buffer(float* buffer, const kernels::Table* kernels) {
    if (!courier_.working()) buffer_ = buffer, kernels_ = kernels;
  }
  // Every gradient that is placed is complete: adds up all of them, and returns when that is done.
  void run();
  // The same beside the backward pass. reach(n): the first n gradients are placed and complete, in the order of the exchange;
  // the first call begins. finish() returns when all are added up.
  void reach(size_t count);
  void finish();

  // Adds `count` numbers of every subtree, each at at[its first leaf], into `sum`; the places of the others are used up.
  void add_up(std::span<float*> at, float* sum, int64_t count) const;

  static int64_t buffer_elements(const Exchange& exchange);

 private:
  using Round = std::vector<Piece>;
  struct Messages {
    std::vector<int> tickets;
    size_t done = 0;
  };
  static int64_t round_elements(const Exchange& exchange);
  static std::vector<Round> rounds_of(const Exchange& exchange, int rank);

  std::span<const Piece> round_of(int rank, size_t round) const;
  float* received(size_t round) const { return buffer_ + int64_t(round % 2) * round_buffer_; }
  float* partial_sum(size_t parameter, int leaf) const;
  void send(size_t round);
  void receive(size_t round);
  void add(size_t round);
  void await(size_t parameter);
  bool settled(Messages& messages);
  void wait(Messages& messages);
  void exchange_all();

  ExchangePointer exchange_;
  Communicator* communicator_;
  std::vector<Subtree> subtrees_;
  std::vector<int> known_end_;              // by a subtree's first leaf
  std::vector<uint32_t> mark_;              // by parameter: how many gradients are complete when its own is
  std::vector<std::vector<Round>> rounds_;  // by owner
  size_t count_ = 0;                        // rounds of the owner with the most
  int64_t round_buffer_;
  std::vector<Operand> gradients_;
  float* buffer_ = nullptr;
  const kernels::Table* kernels_ = nullptr;
  std::array<Messages, 2> sent_, received_;
  std::vector<float*> at_;
  bool beside_ = false;  // on the courier
  double busy_ = 0;      // seconds the courier did not wait for the backward pass
  Courier courier_;      // last: its thread uses the rest
};

}  // namespace plimsoll::ranks
