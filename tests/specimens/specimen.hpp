// Shared by the specimens: a run of a given length in steps of 50 ms, reported over PLIMSOLL_SOCKET as a
// training program would, and memory that is actually touched. The correct verdict on each specimen is known
// by construction.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace specimen {

inline constexpr size_t KB = 1000, MB = 1000 * KB;

// What this process has lost for good so far.
inline size_t lost_bytes = 0;
inline void lose(size_t bytes) { lost_bytes += bytes; }

class Run {
 public:
  // Seconds from SPECIMEN_SECONDS, 18 by default; tells as many epochs as SPECIMEN_EPOCHS says, none by default.
  Run() {
    if (const char* text = std::getenv("SPECIMEN_SECONDS")) seconds_ = std::atof(text);
    steps_ = static_cast<int>(seconds_ / 0.05);
    if (const char* text = std::getenv("SPECIMEN_EPOCHS")) epochs_ = std::atoi(text);
    const char* path = std::getenv("PLIMSOLL_SOCKET");
    if (!path || std::strlen(path) >= sizeof address_.sun_path) return;
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    address_.sun_family = AF_UNIX;
    std::strcpy(address_.sun_path, path);
  }

  // Waits for the next step; false when the run is over.
  bool next() {
    std::this_thread::sleep_until(begin_ + std::chrono::milliseconds(50) * ++step_);
    if (epoch_ < epochs_ && step_ > epoch_ * steps_ / epochs_) tell("epoch " + std::to_string(++epoch_));
    if (step_ % 10 == 0) {
      tell("step " + std::to_string(step_));
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      marks_.push_back({std::chrono::duration<double>(now).count(), step_, lost_bytes, held()});
    }
    if (step_ > steps_) write_truth();
    return step_ <= steps_;
  }
  int step() const { return step_; }
  double progress() const { return static_cast<double>(step_) / steps_; }
  void phase(const char* name) { tell(std::string("phase ") + name); }
  void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

 private:
  struct Mark {
    double time;
    int step;
    size_t lost, held;
  };
  // What the process has of its own, read where nothing of a step is left.
  static size_t held() {
    size_t sum = 0;
    char line[256];
    std::FILE* file = std::getenv("REAL_TRUTH") ? std::fopen("/proc/self/smaps_rollup", "r") : nullptr;
    while (file && std::fgets(line, sizeof line, file))
      for (const char* key : {"Pss_Anon:", "Pss_Shmem:"})
        if (std::strncmp(line, key, std::strlen(key)) == 0)
          sum += std::strtoull(line + std::strlen(key), nullptr, 10) * 1024;
    if (file) std::fclose(file);
    return sum;
  }
  // Bytes lost and held by time (of CLOCK_MONOTONIC) and step, into the file REAL_TRUTH names.
  void write_truth() const {
    const char* path = std::getenv("REAL_TRUTH");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    std::fprintf(file, "{\"marks\": [");
    for (const Mark& mark : marks_)
      std::fprintf(file, "%s[%.3f, %d, %zu, %zu]", &mark == marks_.data() ? "" : ", ", mark.time, mark.step,
                   mark.lost, mark.held);
    std::fprintf(file, "]}");
    std::fclose(file);
  }
  void tell(const std::string& words) {
    if (socket_ >= 0)
      sendto(socket_, words.data(), words.size(), 0, reinterpret_cast<const sockaddr*>(&address_),
             sizeof address_);
  }
  double seconds_ = 18;
  int steps_ = 0, step_ = 0, epochs_ = 0, epoch_ = 0;
  int socket_ = -1;
  std::vector<Mark> marks_;
  sockaddr_un address_{};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Writes one byte a page, so that the pages are there.
inline char* touch(void* memory, size_t bytes) {
  auto* at = static_cast<volatile char*>(memory);
  for (size_t i = 0; i < bytes; i += 512) at[i] = static_cast<char>(i | 1);
  return static_cast<char*>(memory);
}
inline char* take(size_t bytes) { return touch(std::malloc(bytes), bytes); }  // kept by all that leak

struct Release {
  void operator()(char* memory) const { std::free(memory); }
};
using Block = std::unique_ptr<char, Release>;
inline Block block(size_t bytes) { return Block(take(bytes)); }

// Forgets a block while its memory stays: the leak of every leaking specimen goes through here.
inline void leak(size_t bytes) {
  [[maybe_unused]] char* volatile lost = take(bytes);
  lose(bytes);
}

// The process that really leaks says so, for the test to compare with the verdict.
inline void confess() {
  if (const char* path = std::getenv("SPECIMEN_CULPRIT"))
    if (std::FILE* file = std::fopen(path, "w")) {
      std::fprintf(file, "%d\n", static_cast<int>(getpid()));
      std::fclose(file);
    }
}

}  // namespace specimen
