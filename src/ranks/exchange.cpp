#include "ranks/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "platform/clock.hpp"
#include "ranks/reduction.hpp"

namespace plimsoll::ranks {
namespace {

// A message; larger ones gain nothing.
constexpr int64_t message_elements = 1 << 20;
constexpr size_t most_messages = 64;  // on their way at once while parameters are shared

class Common : public Op {
 public:
  explicit Common(ExchangePointer exchange) : exchange_(std::move(exchange)) {}
  Cost cost() const override { return Cost::exchange; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in.begin(), in.end()}; }
  double work(std::span<const Type>, std::span<const Type>) const override { return 0; }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const double began = platform::monotonic_seconds();
    exchange(f);
    communicator().tally.exposed += platform::monotonic_seconds() - began;
  }

 protected:
  virtual void exchange(const Frame& f) const = 0;
  Communicator& communicator() const { return *exchange_->team.communicator(); }
  std::vector<Type> with_buffer(std::span<const Type> in) const {
    std::vector<Type> out(in.begin(), in.end());
    out.push_back(reduction_buffer(*exchange_));
    return out;
  }
  ExchangePointer exchange_;
};

// The end of the reduction: what is left of it, and the losses.
class ReduceToOwners final : public Common {
 public:
  ReduceToOwners(ExchangePointer exchange, ReductionPointer reduction, bool begun)
      : Common(std::move(exchange)),
        reduction_(std::move(reduction)),
        begun_(begun),
        subtrees_(subtrees(*exchange_)),
        losses_(subtrees_.size()),
        at_(size_t(exchange_->leaves)) {}
  const char* name() const override { return begun_ ? "end_reduction" : "reduce_to_owners"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return with_buffer(in); }

 private:
  void exchange(const Frame& f) const override {
    const size_t gradients = exchange_->order.size();
    if (begun_) {
      reduction_->finish();
    } else {
      for (size_t i = 0; i < gradients; ++i) reduction_->place(i, f.inputs[i]);
      reduction_->place_buffer(f.outputs[f.input_count].as<float>(), f.kernels);
      reduction_->run();
    }
    for (size_t i = gradients; i < f.input_count; ++i) reduce_loss(f, i);
  }

  // Rank 0 adds up and says the sum.
  void reduce_loss(const Frame& f, size_t input) const {
    float* const sum = f.inputs[input].as<float>();
    Communicator& to = communicator();
    const auto own = [&](const Subtree& tree) {
      return f.inputs[input].lane(tree.begin - f.leaves.first).as<float>();
    };
    if (exchange_->rank == 0) {
      for (size_t i = 0; i < subtrees_.size(); ++i) {
        const Subtree& tree = subtrees_[i];
        float*& at = at_[size_t(tree.begin)];
        at = tree.rank == 0 ? own(tree) : &losses_[i];
        if (tree.rank != 0) to.wait(to.receive(tree.rank, at, sizeof(float)));
      }
      reduction_->add_up(at_, sum, 1);
    } else {
      for (const Subtree& tree : subtrees_)
        if (tree.rank == exchange_->rank) to.wait(to.send(0, own(tree), sizeof(float)));
    }
    exchange_->team.share(sum, sizeof(float));
  }

  ReductionPointer reduction_;
  const bool begun_;
  std::vector<Subtree> subtrees_;
  // One part runs at a time; their room is taken at the start.
  mutable std::vector<float> losses_;
  mutable std::vector<float*> at_;
};

class BeginReduction final : public Common {
 public:
  BeginReduction(ExchangePointer exchange, ReductionPointer reduction, size_t first)
      : Common(std::move(exchange)), reduction_(std::move(reduction)), first_(first) {}
  const char* name() const override { return "begin_reduction"; }
  bool commits() const override { return true; }
  std::vector<Type> infer(std::span<const Type> in) const override { return with_buffer(in); }
  void run(const Frame& f, int, int) const override {
    if (f.now->last) exchange(f);
  }

 private:
  void exchange(const Frame& f) const override {
    // The node sees the copy of the leaf that runs.
    const int leaf = f.now->micro % f.leaves.all - f.leaves.first;
    reduction_->place_buffer(f.outputs[f.input_count].as<float>(), f.kernels);
    for (size_t i = 0; i < f.input_count; ++i) {
      Operand gradient = f.inputs[i];
      gradient.data -= gradient.lane_stride * static_cast<uint64_t>(leaf);
      add_within(f.leaves, [&](int left, int right) {
        float* const sum = gradient.lane(left - f.leaves.first).as<float>();
        f.kernels->add(
            {gradient.type.elements(), sum, gradient.lane(right - f.leaves.first).as<float>(), sum});
      });
      reduction_->place(exchange_->order[first_ + i], gradient);
    }
    reduction_->reach(first_ + f.input_count);
  }

  ReductionPointer reduction_;
  const size_t first_;
};

// Sends the own part of something to all and receives theirs, every rank its own to another one at a time.
class SharePartials final : public Common {
 public:
  SharePartials(ExchangePointer exchange, std::span<const int64_t> elements) : Common(std::move(exchange)) {
    std::vector<int64_t> first;  // row of each parameter
    int64_t rows = 0;
    for (int64_t count : elements) first.push_back(rows), rows += blocks(count);
    for (const Shard& shard : exchange_->shards) {
      auto& ranges = rows_.emplace_back();
      for (const Piece& piece : shard) {
        const int64_t begin = first[piece.parameter] + piece.begin / shard_block;
        ranges.push_back({begin, begin + blocks(piece.elements())});
      }
    }
    packed_[0].resize(size_t(2 * rows)), packed_[1].resize(size_t(2 * rows));
  }
  const char* name() const override { return "share_partials"; }

 private:
  void exchange(const Frame& f) const override {
    Communicator& to = communicator();
    const size_t own = pack(f.out(0), exchange_->rank);
    for (int step = 1; step < exchange_->ranks; ++step) {
      const int target = (exchange_->rank + step) % exchange_->ranks,
                source = (exchange_->rank + exchange_->ranks - step) % exchange_->ranks;
      const int sent = to.send(target, packed_[0].data(), own);
      const int received = to.receive(source, packed_[1].data(), bytes_of(source));
      to.wait(received);
      unpack(f.out(0), source);
      to.wait(sent);
    }
  }
  static int64_t blocks(int64_t elements) { return (elements + shard_block - 1) / shard_block; }
  size_t bytes_of(int rank) const {
    int64_t rows = 0;
    for (const Range& range : rows_[size_t(rank)]) rows += range.end - range.begin;
    return 2 * sizeof(float) * size_t(rows);
  }
  size_t pack(const float* partials, int rank) const {
    float* to = packed_[0].data();
    for (const Range& range : rows_[size_t(rank)])
      to = std::copy(partials + 2 * range.begin, partials + 2 * range.end, to);
    return bytes_of(rank);
  }
  void unpack(float* partials, int rank) const {
    const float* from = packed_[1].data();
    for (const Range& range : rows_[size_t(rank)]) {
      const int64_t count = 2 * (range.end - range.begin);
      std::copy(from, from + count, partials + 2 * range.begin);
      from += count;
    }
  }
  std::vector<std::vector<Range>> rows_;  // by rank
  mutable std::vector<float> packed_[2];  // own, another's
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

 private:
  void exchange(const Frame& f) const override {
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
  static float* at(const Frame& f, const Piece& piece) {
    return f.outputs[piece.parameter].as<float>() + piece.begin;
  }
  static size_t bytes(const Piece& piece) { return sizeof(float) * size_t(piece.elements()); }
  std::vector<Shard> messages_;  // by owner
  mutable std::vector<int> tickets_;
};

}  // namespace

ReductionPointer make_reduction(ExchangePointer exchange) {
  return std::make_shared<Reduction>(std::move(exchange));
}
Type reduction_buffer(const Exchange& exchange) {
  return {{std::max<int64_t>(1, Reduction::buffer_elements(exchange))}};
}
ops::OpPointer reduce_to_owners(ExchangePointer exchange, ReductionPointer reduction) {
  return std::make_shared<ReduceToOwners>(std::move(exchange), std::move(reduction), false);
}
ops::OpPointer begin_reduction(ExchangePointer exchange, ReductionPointer reduction, size_t first) {
  return std::make_shared<BeginReduction>(std::move(exchange), std::move(reduction), first);
}
ops::OpPointer end_reduction(ExchangePointer exchange, ReductionPointer reduction) {
  return std::make_shared<ReduceToOwners>(std::move(exchange), std::move(reduction), true);
}
ops::OpPointer share_partials(ExchangePointer exchange, std::span<const int64_t> elements) {
  return std::make_shared<SharePartials>(std::move(exchange), elements);
}
ops::OpPointer share_parameters(ExchangePointer exchange) {
  return std::make_shared<ShareParameters>(std::move(exchange));
}

}  // namespace plimsoll::ranks
