// Ranks that are threads of one process, for tests: a mailbox for each pair, messages in their order.
#pragma once
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ranks/communicator.hpp"

namespace plimsoll::ranks {

class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : size_(size) {}

  class Member final : public Communicator {
   public:
    Member(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    std::string library() const override { return "threads"; }
    int send(int to, const void* data, size_t bytes) override {
      std::lock_guard lock(all_.mutex_);
      const auto* from = static_cast<const std::byte*>(data);
      all_.boxes_[{rank_, to}].emplace_back(from, from + bytes);
      return -1;  // copied: there is nothing to wait for
    }
    int receive(int from, void* data, size_t bytes) override {
      waiting_.push_back({from, data, bytes, false});
      return int(waiting_.size()) - 1;
    }
    // Receives from one rank are served in the order they were begun, whichever is asked for.
    bool done(int ticket) override {
      if (ticket < 0) return true;
      std::lock_guard lock(all_.mutex_);
      const Waiting& wanted = waiting_[size_t(ticket)];
      for (size_t i = 0; i <= size_t(ticket); ++i) {
        Waiting& each = waiting_[i];
        if (each.done || each.from != wanted.from) continue;
        auto& box = all_.boxes_[{each.from, rank_}];
        if (box.empty() && all_.gone_ >= 0) throw RankLost("rank " + std::to_string(all_.gone_) + " is lost");
        if (box.empty()) return false;
        if (box.front().size() != each.bytes)
          fail("a message has {} bytes, {} expected", box.front().size(), each.bytes);
        if (each.bytes) std::memcpy(each.data, box.front().data(), each.bytes);
        box.pop_front();
        each.done = true;
      }
      return true;
    }

   private:
    struct Waiting {
      int from;
      void* data;
      size_t bytes;
      bool done;
    };
    ThreadRanks& all_;
    int rank_;
    std::vector<Waiting> waiting_;
  };

  // Runs `body` on every rank at once; a rank that throws is gone for the others. Rethrows what rank 0 or, if that ended
  // well, the first other one threw.
  void run(const std::function<void(Communicator&)>& body) {
    std::vector<std::exception_ptr> errors(size_t(size_), nullptr);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank)
      threads.emplace_back([&, rank] {
        Member member(*this, rank);
        try {
          body(member);
        } catch (...) {
          errors[size_t(rank)] = std::current_exception();
          std::lock_guard lock(mutex_);
          if (gone_ < 0) gone_ = rank;
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& error : errors)
      if (error) std::rethrow_exception(error);
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> boxes_;  // from, to
  int gone_ = -1;
};

}  // namespace plimsoll::ranks
