// Wakes libraries that were preloaded to sleep (PLIMSOLL_HEAP=dormant) in running processes of this user, by the page they
// share (format.hpp), and puts them to sleep again.
#pragma once
#include <cstdint>
#include <set>
#include <string>

namespace plimsoll::heap {

class Waker {
 public:
  // Samples go into heap files in `folder`, one every `rate` bytes.
  Waker(std::string folder, uint64_t rate) : folder_(std::move(folder)), rate_(rate) {}
  ~Waker();  // puts to sleep what it woke
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Whether a library sleeps in this process; it wakes when the process next allocates. Processes it forks wake with it.
  bool wake(int pid);

 private:
  bool wish(int pid, bool on) const;

  std::string folder_;
  uint64_t rate_;
  std::set<int> woken_;
};

// For the environment of a program whose library is to sleep, and the removal of pages that processes left behind.
void remove_stale_pages();

}  // namespace plimsoll::heap
