// Memory bombs of many kinds: bombs KIND [MEGABYTES] [GROUP]. Each uses memory as fast as it can until something stops it
// or MEGABYTES (2000) are reached, then waits. The processes that grow append their pids to SPECIMEN_CULPRITS. GROUP
// is the folder of a control group for the kinds that move into one; files go to the folder SPECIMEN_TMPFS.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <map>
#include <vector>

#include "specimen.hpp"

namespace {

using specimen::MB;
size_t megabytes = 2000;
std::string group;

[[noreturn]] void rest() {
  for (;;) pause();
}

void append(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || write(file, text.data(), text.size()) != ssize_t(text.size())) _exit(4);
  close(file);
}

void confess() {
  if (const char* path = std::getenv("SPECIMEN_CULPRITS")) append(path, std::to_string(getpid()) + "\n");
}

char* map(size_t bytes, int flags, int file = -1) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) _exit(3);
  return static_cast<char*>(memory);
}

void fill(size_t count, int flags = MAP_PRIVATE | MAP_ANONYMOUS) {
  for (size_t i = 0; i < count; ++i) specimen::touch(map(MB, flags), MB);
}

void fill_file(int file) {
  if (file < 0 || ftruncate(file, off_t(megabytes * MB)) != 0) _exit(3);
  specimen::touch(map(megabytes * MB, MAP_SHARED, file), megabytes * MB);
}

void write_file(int file, size_t count) {
  static const std::vector<char> chunk(MB, 'x');
  for (size_t i = 0; i < count; ++i)
    if (write(file, chunk.data(), chunk.size()) < 0) _exit(3);
}

int memory_file() { return memfd_create("bomb", 0); }

int tmpfs_file(int number = 0) {
  const char* folder = std::getenv("SPECIMEN_TMPFS");
  const std::string path = std::string(folder ? folder : "/dev/shm") + "/bomb-" + std::to_string(getpid()) +
                           "-" + std::to_string(number);
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
}

// A session of its own and no parent left, as daemon(3) does it.
void become_daemon() {
  if (fork() != 0) _exit(0);
  setsid();
  if (fork() != 0) _exit(0);
}

void move() { append((group + "/cgroup.procs").c_str(), std::to_string(getpid())); }
void move_thread_group() { append((group + "/cgroup.procs").c_str(), "0"); }

const std::map<std::string, std::function<void()>> kinds = {
    {"private", [] { confess(), fill(megabytes); }},
    {"heap",
     [] {
       confess();
       char* all = nullptr;
       for (size_t size = 8 * MB; size <= megabytes * MB; size += 8 * MB) {
         all = static_cast<char*>(std::realloc(all, size));
         specimen::touch(all + size - 8 * MB, 8 * MB);
       }
     }},
    {"populate", [] { confess(), map(megabytes * MB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE); }},
    {"huge_pages",
     [] {
       confess();
       char* all = map(megabytes * MB, MAP_PRIVATE | MAP_ANONYMOUS);
       madvise(all, megabytes * MB, MADV_HUGEPAGE);
       specimen::touch(all, megabytes * MB);
     }},
    {"threads",
     [] {
       confess();
       std::vector<std::thread> threads;
       for (int i = 0; i < 4; ++i) threads.emplace_back([] { fill(megabytes / 4); });
       for (auto& thread : threads) thread.join();
     }},
    {"shared", [] { confess(), fill(megabytes, MAP_SHARED | MAP_ANONYMOUS); }},
    {"shared_by_four",
     [] {
       char* all = map(megabytes * MB, MAP_SHARED | MAP_ANONYMOUS);
       const size_t part = megabytes * MB / 4;
       for (size_t i = 0; i < 4; ++i)
         if (fork() == 0) confess(), specimen::touch(all + i * part, part), rest();
       _exit(0);
     }},
    {"memfd_mapped", [] { confess(), fill_file(memory_file()); }},
    {"memfd_written", [] { confess(), write_file(memory_file(), megabytes); }},
    {"memfd_one_write",
     [] {
       confess();
       char* all =
           map(megabytes * MB, MAP_PRIVATE | MAP_ANONYMOUS);  // never written: it reads as the zero page
       if (write(memory_file(), all, megabytes * MB) < 0) _exit(3);
     }},
    {"memfd_fallocate",
     [] {
       confess();
       const int file = memory_file();
       while (fallocate(file, 0, 0, off_t(megabytes * MB)) != 0 && errno == EINTR) {
       }
     }},
    {"tmpfs_mapped", [] { confess(), fill_file(tmpfs_file()); }},
    {"tmpfs_written", [] { confess(), write_file(tmpfs_file(), megabytes); }},
    {"tmpfs_many_files",
     [] {
       confess();
       for (size_t i = 0; i < megabytes / 16; ++i) {
         const int file = tmpfs_file(int(i));
         write_file(file, 16);
         close(file);
       }
     }},
    {"fork_storm",
     [] {
       confess();
       for (size_t i = 0; i < megabytes / 20; ++i)
         if (fork() == 0) confess(), fill(20), rest();
       _exit(0);
     }},
    {"fork_chain",
     [] {
       for (size_t i = 0; i < megabytes / 40; ++i) {
         confess(), fill(40);
         if (fork() == 0) continue;  // the child holds what its parents filled, too
         _exit(0);
       }
     }},
    {"daemon", [] { become_daemon(), confess(), fill(megabytes); }},
    {"stubborn", [] { std::signal(SIGTERM, SIG_IGN), confess(), fill(megabytes); }},
    {"stubborn_daemon_shared",
     [] {
       std::signal(SIGTERM, SIG_IGN);
       become_daemon(), confess();
       fill(megabytes, MAP_SHARED | MAP_ANONYMOUS);
     }},
    {"moves_itself", [] { confess(), move(), fill(megabytes); }},
    {"child_moves",
     [] {
       if (fork() != 0) _exit(0);
       confess(), move_thread_group();
       fill_file(memory_file());
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const auto kind = kinds.find(argc > 1 ? argv[1] : "");
  if (kind == kinds.end()) {
    for (auto& [name, run] : kinds) std::puts(name.c_str());
    return 2;
  }
  if (argc > 2) megabytes = std::strtoul(argv[2], nullptr, 10);
  if (argc > 3) group = argv[3];
  kind->second();
  rest();
}
