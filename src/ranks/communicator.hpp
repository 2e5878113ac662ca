// Messages between the ranks of a run, point to point and in a fixed order: between two ranks they arrive in the order in
// which they were sent. There is no reduction here; who adds what, and in which order, is for the caller to say.
//
//   const int ticket = communicator.send(1, data, bytes);   // the bytes must stay until wait() returns
//   communicator.wait(ticket);
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"

namespace plimsoll::ranks {

// Another rank is gone or does not answer. Nothing can be computed together any more.
class RankLost : public Error {
  using Error::Error;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string library() const = 0;  // what carries the messages

  // Begin a transfer and return its ticket. Both sides give the same number of bytes.
  virtual int send(int to, const void* data, size_t bytes) = 0;
  virtual int receive(int from, void* data, size_t bytes) = 0;
  // Whether the transfer is done; the ticket is then used up. RankLost where it cannot be done any more.
  virtual bool done(int ticket) = 0;
  // Returns when it is done, yielding the processor meanwhile.
  void wait(int ticket);
  // How many ranks, this one included, are so near that messages to them are copied in memory.
  virtual int near() const { return 1; }
  // What to add where the loss of a rank is reported.
  virtual void set_advice(std::string) {}
  // The end of an orderly run, on all ranks. Without it the others take this rank for lost.
  virtual void finish() {}

  // Seconds of all steps, for people: spent on messages that nothing else was done beside, on messages beside the backward
  // pass, and waiting until all ranks had done their part of the step.
  struct Tally {
    double exposed = 0, hidden = 0, meeting = 0;
  } tally;

 protected:
  // Between two looks whether a transfer is done, of which there were `looks`: lets others run, at last sleeps. `heard` is what
  // hear() said before the last look.
  virtual uint32_t hear() { return 0; }
  virtual void rest(int looks, uint32_t heard);
};

// What all ranks of a run agree on. Every rank makes the same calls in the same order; without a communicator there is one
// rank, which agrees with itself. Nothing is allocated.
class Team {
 public:
  Team() = default;
  explicit Team(Communicator* communicator) : communicator_(communicator) {}

  Communicator* communicator() const { return communicator_; }
  int rank() const { return communicator_ ? communicator_->rank() : 0; }
  int size() const { return communicator_ ? communicator_->size() : 1; }
  bool alone() const { return size() == 1; }
  bool first() const { return rank() == 0; }

  // The largest number any rank gives, and the smallest.
  uint64_t max(uint64_t value) const;
  uint64_t min(uint64_t value) const { return ~max(~value); }
  bool any(bool value) const { return max(value) != 0; }
  bool all(bool value) const { return !any(!value); }
  void meet() const { max(0); }
  // Everybody has what rank 0 has.
  void share(void* data, size_t bytes) const;
  // Rank 0 gets what every rank gives, in the order of the ranks; `all` has room for size() times as many bytes there.
  void collect(const void* own, size_t bytes, void* all) const;

 private:
  int parent() const { return (rank() - 1) / 2; }
  Communicator* communicator_ = nullptr;
};

}  // namespace plimsoll::ranks
