#include "ranks/reduction.hpp"

#include <algorithm>

#include "platform/clock.hpp"

namespace plimsoll::ranks {

std::vector<Subtree> subtrees(const Exchange& exchange) {
  std::vector<Subtree> all;
  for (int rank = 0; rank < exchange.ranks; ++rank)
    largest_within(exchange.leaves_of(rank), [&](int begin, int end) { all.push_back({rank, begin, end}); });
  return all;
}

// Elements of a shard added up at a time. Of many ranks every one sends less at a time: the room they are received in is
// bounded.
int64_t Reduction::round_elements(const Exchange& exchange) {
  constexpr int64_t most = 1 << 17, least = 1 << 12, room = 1 << 19;
  return std::clamp<int64_t>(room / int64_t(subtrees(exchange).size()), least, most);
}

std::vector<Reduction::Round> Reduction::rounds_of(const Exchange& exchange, int rank) {
  const int64_t most = round_elements(exchange);
  std::vector<const Piece*> by_parameter(exchange.order.size());
  for (const Piece& piece : exchange.shards[size_t(rank)]) by_parameter[piece.parameter] = &piece;
  std::vector<Round> rounds;
  int64_t room = 0;
  for (size_t parameter : exchange.order) {
    if (!by_parameter[parameter]) continue;
    const Piece& piece = *by_parameter[parameter];
    for (int64_t begin = piece.begin; begin < piece.end;) {
      if (room == 0) rounds.emplace_back(), room = most;
      const int64_t end = std::min(piece.end, begin + room);
      rounds.back().push_back({piece.parameter, begin, end});
      room -= end - begin;
      begin = end;
    }
  }
  return rounds;
}

// Of two rounds.
int64_t Reduction::buffer_elements(const Exchange& exchange) {
  int64_t most = 0;
  for (const Round& round : rounds_of(exchange, exchange.rank)) most = std::max(most, elements_of(round));
  const auto all = subtrees(exchange);
  return 2 * most * std::count_if(all.begin(), all.end(), [&](const Subtree& tree) {
           return tree.rank != exchange.rank;
         });
}

Reduction::Reduction(ExchangePointer exchange)
    : exchange_(std::move(exchange)),
      communicator_(exchange_->team.communicator()),
      subtrees_(subtrees(*exchange_)),
      known_end_(size_t(exchange_->leaves)),
      mark_(exchange_->order.size()),
      round_buffer_(buffer_elements(*exchange_) / 2),
      gradients_(exchange_->order.size()),
      at_(size_t(exchange_->leaves)) {
  for (const Subtree& tree : subtrees_) known_end_[size_t(tree.begin)] = tree.end;
  for (size_t i = 0; i < exchange_->order.size(); ++i) mark_[exchange_->order[i]] = uint32_t(i + 1);
  size_t messages = 0;
  for (int rank = 0; rank < exchange_->ranks; ++rank) {
    rounds_.push_back(rounds_of(*exchange_, rank));
    count_ = std::max(count_, rounds_.back().size());
    for (const Round& round : rounds_.back()) messages = std::max(messages, round.size());
  }
  for (auto* each : {&sent_[0], &sent_[1], &received_[0], &received_[1]})
    each->tickets.reserve(messages * subtrees_.size() * rounds_.size());
}

std::span<const Piece> Reduction::round_of(int rank, size_t round) const {
  const auto& rounds = rounds_[size_t(rank)];
  if (round < rounds.size()) return rounds[round];
  return {};
}

float* Reduction::partial_sum(size_t parameter, int leaf) const {
  return gradients_[parameter].lane(leaf - exchange_->leaves_of(exchange_->rank).first).as<float>();
}

// Returns when the gradient is complete; messages go on meanwhile.
void Reduction::await(size_t parameter) {
  if (!beside_ || courier_.has_reached(mark_[parameter])) return;
  const double began = platform::monotonic_seconds();
  while (!courier_.reached(mark_[parameter]))
    for (auto* each : {&received_[0], &received_[1], &sent_[0], &sent_[1]}) settled(*each);
  busy_ -= platform::monotonic_seconds() - began;
}

void Reduction::send(size_t round) {
  // Everybody begins with another owner.
  for (int step = 1; step < exchange_->ranks; ++step) {
    const int owner = (exchange_->rank + step) % exchange_->ranks;
    for (const Subtree& tree : subtrees_) {
      if (tree.rank != exchange_->rank) continue;
      for (const Piece& piece : round_of(owner, round)) {
        await(piece.parameter);
        sent_[round % 2].tickets.push_back(
            communicator_->send(owner, partial_sum(piece.parameter, tree.begin) + piece.begin,
                                sizeof(float) * size_t(piece.elements())));
      }
    }
  }
}

void Reduction::receive(size_t round) {
  float* place = received(round);
  for (const Subtree& tree : subtrees_) {
    if (tree.rank == exchange_->rank) continue;
    for (const Piece& piece : round_of(exchange_->rank, round)) {
      received_[round % 2].tickets.push_back(
          communicator_->receive(tree.rank, place, sizeof(float) * size_t(piece.elements())));
      place += piece.elements();
    }
  }
}

bool Reduction::settled(Messages& messages) {
  while (messages.done < messages.tickets.size() && communicator_->done(messages.tickets[messages.done]))
    ++messages.done;
  if (messages.done < messages.tickets.size()) return false;
  messages.tickets.clear();
  messages.done = 0;
  return true;
}

void Reduction::wait(Messages& messages) {
  while (!settled(messages)) {
    if (beside_ && !courier_.hurried())
      courier_.rest();
    else
      communicator_->wait(messages.tickets[messages.done++]);
  }
}

void Reduction::add_up(std::span<float*> at, float* sum, int64_t count) const {
  const int all = exchange_->leaves;
  add_tree(
      0, all, [&](int begin, int end) { return known_end_[size_t(begin)] == end; },
      [](int, int) { return false; },
      [&](int left, int right) {
        const bool root = left == 0 && right == left_leaves(all);
        kernels_->add({count, at[size_t(left)], at[size_t(right)], root ? sum : at[size_t(left)]});
      });
}

void Reduction::add(size_t round) {
  const auto pieces = round_of(exchange_->rank, round);
  int64_t elements = 0, before = 0;
  for (const Piece& piece : pieces) elements += piece.elements();
  for (const Piece& piece : pieces) {
    await(piece.parameter);
    float* place = received(round) + before;
    for (const Subtree& tree : subtrees_) {
      const bool own = tree.rank == exchange_->rank;
      at_[size_t(tree.begin)] = own ? partial_sum(piece.parameter, tree.begin) + piece.begin : place;
      if (!own) place += elements;
    }
    add_up(at_, gradients_[piece.parameter].as<float>() + piece.begin, piece.elements());
    before += piece.elements();
  }
}

void Reduction::exchange_all() {
  receive(0);
  for (size_t round = 0; round < count_; ++round) {
    send(round);
    receive(round + 1);
    wait(received_[round % 2]);
    add(round);
    if (round > 0) wait(sent_[(round - 1) % 2]);
  }
  for (Messages& messages : sent_) wait(messages);
}

void Reduction::run() {
  beside_ = false;
  exchange_all();
}

void Reduction::reach(size_t count) {
  if (!courier_.working()) {
    beside_ = true;
    courier_.begin(
        [](void* of) {
          auto& self = *static_cast<Reduction*>(of);
          const double began = platform::monotonic_seconds();
          self.busy_ = 0;
          self.exchange_all();
          self.busy_ += platform::monotonic_seconds() - began;
        },
        this);
  }
  courier_.reach(uint32_t(count));
}

void Reduction::finish() {
  const double began = platform::monotonic_seconds();
  courier_.finish();
  const double waited = platform::monotonic_seconds() - began;
  communicator_->tally.hidden += std::max(0., busy_ - waited);
}

}  // namespace plimsoll::ranks
