#include "ranks/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace plimsoll::ranks {
namespace {

// Elements of a shard added up at a time, of every partial sum: two rounds are under way at once.
constexpr int64_t round_elements = 1 << 17;
// A message; larger ones gain nothing.
constexpr int64_t message_elements = 1 << 20;
constexpr size_t most_messages = 64;  // on their way at once while parameters are shared

using Round = std::vector<Piece>;

std::vector<Round> rounds_of(const Shard& shard) {
  std::vector<Round> rounds;
  int64_t room = 0;
  for (const Piece& piece : shard)
    for (int64_t begin = piece.begin; begin < piece.end;) {
      if (room == 0) rounds.emplace_back(), room = round_elements;
      const int64_t end = std::min(piece.end, begin + room);
      rounds.back().push_back({piece.parameter, begin, end});
      room -= end - begin;
      begin = end;
    }
  return rounds;
}

// A complete subtree of the leaves whose sum one rank has.
struct Subtree {
  int rank, begin, end;
};

std::vector<Subtree> subtrees(const Exchange& exchange) {
  std::vector<Subtree> all;
  for (int rank = 0; rank < exchange.ranks; ++rank)
    largest_within(exchange.leaves_of(rank), [&](int begin, int end) { all.push_back({rank, begin, end}); });
  return all;
}

// Elements of one round that a rank receives.
int64_t received_elements(const Exchange& exchange) {
  int64_t most = 0;
  for (const Round& round : rounds_of(exchange.own())) most = std::max(most, elements_of(round));
  const auto all = subtrees(exchange);
  return most * std::count_if(all.begin(), all.end(),
                              [&](const Subtree& tree) { return tree.rank != exchange.rank; });
}

class Common : public Op {
 public:
  explicit Common(ExchangePointer exchange) : exchange_(std::move(exchange)) {}
  Cost cost() const override { return Cost::exchange; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in.begin(), in.end()}; }
  double work(std::span<const Type>, std::span<const Type>) const override { return 0; }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }

 protected:
  Communicator& communicator() const { return *exchange_->team.communicator(); }
  ExchangePointer exchange_;
};

class ReduceToOwners final : public Common {
 public:
  ReduceToOwners(ExchangePointer exchange, size_t gradients)
      : Common(std::move(exchange)), gradients_(gradients), subtrees_(subtrees(*exchange_)) {
    for (const Shard& shard : exchange_->shards) rounds_.push_back(rounds_of(shard));
    for (const auto& rounds : rounds_) count_ = std::max(count_, rounds.size());
    at_.resize(static_cast<size_t>(exchange_->leaves));
    known_end_.resize(at_.size());
    for (const Subtree& tree : subtrees_) known_end_[static_cast<size_t>(tree.begin)] = tree.end;
    size_t messages = 0;
    for (const auto& rounds : rounds_)
      for (const Round& round : rounds) messages = std::max(messages, round.size());
    for (auto* tickets : {&sent_[0], &sent_[1], &received_[0], &received_[1]})
      tickets->reserve(messages * subtrees_.size() * rounds_.size());
    losses_.resize(subtrees_.size());
  }
  const char* name() const override { return "reduce_to_owners"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    std::vector<Type> out(in.begin(), in.end());
    out.push_back(reduction_buffer(*exchange_));
    return out;
  }

  void run(const Frame& f, int, int) const override {
    receive(f, 0);
    for (size_t round = 0; round < count_; ++round) {
      send(f, round);
      receive(f, round + 1);
      wait(received_[round % 2]);
      add(f, round);
      if (round > 0) wait(sent_[(round - 1) % 2]);
    }
    for (auto& tickets : sent_) wait(tickets);
    for (size_t i = gradients_; i < f.input_count; ++i) reduce_loss(f, i);
  }

 private:
  // The rounds of a rank, and nothing beyond its last one.
  std::span<const Piece> round_of(int rank, size_t round) const {
    const auto& rounds = rounds_[static_cast<size_t>(rank)];
    if (round < rounds.size()) return rounds[round];
    return {};
  }
  float* partial_sum(const Frame& f, size_t input, int leaf) const {
    return f.inputs[input].lane(leaf - f.leaves.first).as<float>();
  }
  float* buffer(const Frame& f, size_t round) const {
    return f.outputs[f.input_count].as<float>() + int64_t(round % 2) * received_elements_;
  }

  void send(const Frame& f, size_t round) const {
    // Everybody begins with another owner.
    for (int step = 1; step < exchange_->ranks; ++step) {
      const int owner = (exchange_->rank + step) % exchange_->ranks;
      for (const Subtree& tree : subtrees_) {
        if (tree.rank != exchange_->rank) continue;
        for (const Piece& piece : round_of(owner, round))
          sent_[round % 2].push_back(
              communicator().send(owner, partial_sum(f, piece.parameter, tree.begin) + piece.begin,
                                  sizeof(float) * size_t(piece.elements())));
      }
    }
  }

  void receive(const Frame& f, size_t round) const {
    float* place = buffer(f, round);
    for (const Subtree& tree : subtrees_) {
      if (tree.rank == exchange_->rank) continue;
      for (const Piece& piece : round_of(exchange_->rank, round)) {
        received_[round % 2].push_back(
            communicator().receive(tree.rank, place, sizeof(float) * size_t(piece.elements())));
        place += piece.elements();
      }
    }
  }

  void wait(std::vector<int>& tickets) const {
    for (int ticket : tickets) communicator().wait(ticket);
    tickets.clear();
  }

  // Sums the subtrees, each with its elements at at_[its first leaf], into `sum`.
  void add_up(const Frame& f, float* sum, int64_t count) const {
    const int all = exchange_->leaves;
    add_tree(
        0, all, [&](int begin, int end) { return known_end_[static_cast<size_t>(begin)] == end; },
        [](int, int) { return false; },
        [&](int left, int right) {
          const bool root = left == 0 && right == left_leaves(all);
          f.kernels->add({count, at_[size_t(left)], at_[size_t(right)], root ? sum : at_[size_t(left)]});
        });
  }

  void add(const Frame& f, size_t round) const {
    const auto pieces = round_of(exchange_->rank, round);
    int64_t elements = 0;
    for (const Piece& piece : pieces) elements += piece.elements();
    int64_t before = 0;
    for (const Piece& piece : pieces) {
      float* place = buffer(f, round) + before;
      for (const Subtree& tree : subtrees_) {
        const bool own = tree.rank == exchange_->rank;
        at_[size_t(tree.begin)] = own ? partial_sum(f, piece.parameter, tree.begin) + piece.begin : place;
        if (!own) place += elements;
      }
      add_up(f, f.inputs[piece.parameter].as<float>() + piece.begin, piece.elements());
      before += piece.elements();
    }
  }

  // Rank 0 adds up and says the sum.
  void reduce_loss(const Frame& f, size_t input) const {
    float* const sum = f.inputs[input].as<float>();
    Communicator& to = communicator();
    if (exchange_->rank == 0) {
      for (size_t i = 0; i < subtrees_.size(); ++i) {
        const Subtree& tree = subtrees_[i];
        float*& at = at_[size_t(tree.begin)];
        at = tree.rank == 0 ? partial_sum(f, input, tree.begin) : &losses_[i];
        if (tree.rank != 0) to.wait(to.receive(tree.rank, at, sizeof(float)));
      }
      add_up(f, sum, 1);
    } else {
      for (const Subtree& tree : subtrees_)
        if (tree.rank == exchange_->rank)
          to.wait(to.send(0, partial_sum(f, input, tree.begin), sizeof(float)));
    }
    exchange_->team.share(sum, sizeof(float));
  }

  size_t gradients_, count_ = 0;
  std::vector<Subtree> subtrees_;
  std::vector<std::vector<Round>> rounds_;  // by owner
  int64_t received_elements_ = received_elements(*exchange_);
  // One part runs at a time; their room is taken at the start.
  mutable std::array<std::vector<int>, 2> sent_, received_;
  mutable std::vector<float*> at_;
  mutable std::vector<float> losses_;
  std::vector<int> known_end_;  // by a subtree's first leaf
};

// Sends the own part of something to all and receives theirs, every rank its own to another one at a time.
class SharePartials final : public Common {
 public:
  using Common::Common;
  const char* name() const override { return "share_partials"; }
  void run(const Frame& f, int, int) const override {
    Communicator& to = communicator();
    for (int step = 1; step < exchange_->ranks; ++step) {
      const int target = (exchange_->rank + step) % exchange_->ranks,
                source = (exchange_->rank + exchange_->ranks - step) % exchange_->ranks;
      const Range own = rows(exchange_->rank), theirs = rows(source);
      const int sent = to.send(target, f.out(0) + 2 * own.begin, bytes(own));
      const int received = to.receive(source, f.out(0) + 2 * theirs.begin, bytes(theirs));
      to.wait(received);
      to.wait(sent);
    }
  }

 private:
  static size_t bytes(const Range& range) { return 2 * sizeof(float) * size_t(range.end - range.begin); }
  // The shards follow each other, so their blocks do.
  Range rows(int rank) const {
    Range range{0, 0};
    for (int r = 0; r <= rank; ++r) {
      range.begin = range.end;
      for (const Piece& piece : exchange_->shards[static_cast<size_t>(r)])
        range.end += (piece.elements() + shard_block - 1) / shard_block;
    }
    return range;
  }
};

class ShareParameters final : public Common {
 public:
  explicit ShareParameters(ExchangePointer exchange) : Common(std::move(exchange)) {
    for (const Shard& shard : exchange_->shards) {
      auto& messages = messages_.emplace_back();
      for (const Piece& piece : shard)
        for (int64_t begin = piece.begin; begin < piece.end; begin += message_elements)
          messages.push_back({piece.parameter, begin, std::min(piece.end, begin + message_elements)});
    }
    tickets_.reserve(2 * most_messages);
  }
  const char* name() const override { return "share_parameters"; }
  void run(const Frame& f, int, int) const override {
    for (int step = 1; step < exchange_->ranks; ++step) {
      const int target = (exchange_->rank + step) % exchange_->ranks,
                source = (exchange_->rank + exchange_->ranks - step) % exchange_->ranks;
      const auto &own = messages_[size_t(exchange_->rank)], &theirs = messages_[size_t(source)];
      for (size_t first = 0; first < std::max(own.size(), theirs.size()); first += most_messages) {
        for (size_t i = first; i < std::min(first + most_messages, theirs.size()); ++i)
          tickets_.push_back(communicator().receive(source, at(f, theirs[i]), bytes(theirs[i])));
        for (size_t i = first; i < std::min(first + most_messages, own.size()); ++i)
          tickets_.push_back(communicator().send(target, at(f, own[i]), bytes(own[i])));
        for (int ticket : tickets_) communicator().wait(ticket);
        tickets_.clear();
      }
    }
  }

 private:
  static float* at(const Frame& f, const Piece& piece) {
    return f.outputs[piece.parameter].as<float>() + piece.begin;
  }
  static size_t bytes(const Piece& piece) { return sizeof(float) * size_t(piece.elements()); }
  std::vector<Shard> messages_;  // by owner
  mutable std::vector<int> tickets_;
};

}  // namespace

ops::OpPointer reduce_to_owners(ExchangePointer exchange, size_t gradients) {
  return std::make_shared<ReduceToOwners>(std::move(exchange), gradients);
}
Type reduction_buffer(const Exchange& exchange) {
  return {{std::max<int64_t>(1, 2 * received_elements(exchange))}};
}
ops::OpPointer share_partials(ExchangePointer exchange) {
  return std::make_shared<SharePartials>(std::move(exchange));
}
ops::OpPointer share_parameters(ExchangePointer exchange) {
  return std::make_shared<ShareParameters>(std::move(exchange));
}

}  // namespace plimsoll::ranks
