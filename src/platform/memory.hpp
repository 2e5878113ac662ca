// Memory as seen by the kernel: that of this process and of the machine, and anonymous
// mappings.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll {

// Our own resident memory. The files are opened once, so a reading costs one system call and no allocation.
class OwnMemory {
 public:
  explicit OwnMemory(const std::string& proc_root = "/proc");  // Error when it cannot be read
  ~OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  uint64_t resident() const;  // bytes now; 0 when the kernel does not say
  uint64_t peak() const;      // most bytes ever resident (VmHWM)

 private:
  int statm_, status_;
  uint64_t page_;
};

// What this program and its libraries take of the address space, by their own headers. How much of it is resident depends on
// what has run and on where the kernel put it; this is the same every time.
uint64_t loaded_code_bytes();
// Gives back the resident pages of code and constants, of this program and its libraries: what only starting needed stays
// away, what is used again comes back from the page cache, 64 KB at a time.
void release_code_pages();
// What malloc has taken from the kernel so far.
uint64_t heap_bytes();

struct MachineMemory {
  uint64_t total = 0, available = 0, free = 0, swap_total = 0, swap_free = 0;
};
// From meminfo; Error when it is missing or has no MemTotal. A kernel without MemAvailable gets free memory
// instead.
MachineMemory machine_memory(const std::string& proc_root = "/proc");

// Zeroed pages for the rest of the process's life, each resident from its first touch on. Never huge ones: those would
// make two megabytes resident at the first touch. nullptr where the kernel refuses.
void* reserve_pages(size_t bytes);

// Private zeroed pages of our own, unmapped at the end of its life.
//
//   Mapping arena(plan.bytes, Mapping::Pages::huge);
//   arena.touch();             // from here on every page is resident: what was planned is what RSS shows
//   arena.release(from, size); // these pages are the kernel's again; they read as zero
class Mapping {
 public:
  enum class Pages { normal, huge };  // huge is advice: the kernel may not follow

  Mapping() = default;
  explicit Mapping(size_t bytes, Pages pages = Pages::normal);  // Error when there is no memory
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  char* data() const { return data_; }
  size_t size() const { return size_; }  // as asked for
  void touch() { touch(0, size_); }      // writes to every page without changing its content
  void touch(size_t offset, size_t bytes);
  // Gives back the whole pages inside [offset, offset + bytes); those at the edges that are only partly
  // inside stay.
  void release(size_t offset, size_t bytes);

 private:
  void unmap() noexcept;
  char* data_ = nullptr;
  size_t size_ = 0, mapped_ = 0;
};

}  // namespace plimsoll
