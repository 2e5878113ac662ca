#include "heap/preload/process.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "heap/preload/dormant.hpp"
#include "heap/preload/numbers.hpp"
#include "heap/preload/python.hpp"
#include "heap/preload/sampling.hpp"
#include "heap/preload/text.hpp"

namespace plimsoll::heap {
namespace {

// System calls are made directly here: the functions of libc that wrap them are points where a thread can be cancelled.
enum class State : uint32_t { unknown = 0, on, off };

struct alignas(4096) Wiped {
  uint32_t locked;
  State state;
  uint32_t generation;  // of the wish that was followed last
  uint32_t visits;
  uint32_t finer;  // samples come 2^finer times as often as asked for
  uint32_t paced_samples;
  uint64_t paced_since;  // nanoseconds
  Store store;
  alignas(4096) uint8_t filter[filter_bytes];
};
Wiped wiped;

char folder[3072];
uint64_t rate = 512 << 10;
bool sleeps = false;      // until a watcher wakes it
bool restricted = false;  // by the program itself; its children are too
uintptr_t allocator_start, allocator_end;
char allocator_name[64] = "libc";

// A sample costs some microseconds: at most this many a second are taken beyond what was asked for. Each live one makes
// it a little likelier that freeing a block has to look for it.
constexpr uint32_t most_finer = 3, many_live = 1 << 12, pace_window = 256;
constexpr double many_a_second = 1000, few_a_second = 250, pace_seconds = 0.25;

// The watcher holds a lock on a file in the folder as long as it lives; nobody would ever remove what is written later.
bool watcher_lives() {
  char path[4096];
  append(append(path, path + sizeof path, folder), path + sizeof path, "/watcher");
  const int descriptor = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (descriptor < 0) return false;
  const bool held = flock(descriptor, LOCK_SH | LOCK_NB) != 0;
  syscall(SYS_close, descriptor);
  return held;
}

// Tells the watcher why this process has no file.
void leave_word(int error) {
  char path[4096];
  const char* end = path + sizeof path;
  append(append(append(append(path, end, folder), end, "/"), end, refused_name), end, uint64_t(error));
  const int descriptor =
      int(syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (descriptor >= 0) syscall(SYS_close, descriptor);
}

int create_file(uint64_t bytes) {
  char path[4096];
  const char* end = path + sizeof path;
  char* base = append(append(append(path, end, folder), end, "/"), end, uint64_t(getpid()));
  // Programs a process became by exec each get a file. The watcher removes those of the earlier ones: a name that could come
  // again would be taken for one of them, so it is the moment.
  const uint64_t now = monotonic_nanoseconds();
  for (uint64_t attempt = 0; attempt < 64; ++attempt) {
    append(append(append(base, end, "."), end, now + attempt), end, ".heap");
    const int descriptor =
        int(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (descriptor < 0) {
      if (errno == EEXIST) continue;
      return -1;
    }
    if (!may_write_file_of(bytes)) {
      syscall(SYS_close, descriptor);
      unlink(path);
      leave_word(EFBIG);
      return -1;
    }
    // Reserved on the disk now: a full disk must not kill the program by SIGBUS later.
    if (syscall(SYS_fallocate, descriptor, 0, 0, off_t(bytes)) == 0) return descriptor;
    const int error = errno;
    syscall(SYS_close, descriptor);
    unlink(path);
    leave_word(error);
    return -1;
  }
  return -1;
}

void* map(size_t bytes, int flags, int descriptor) {
  void* got = reinterpret_cast<void*>(
      syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0));
  if (got == MAP_FAILED) return nullptr;
  madvise(got, bytes, MADV_DONTFORK);
  return got;
}

template <typename Entry>
void place(Table& table, Entry*& entries, Header* header, uint64_t& offset, uint32_t capacity) {
  table = {offset, capacity, 1};
  entries = reinterpret_cast<Entry*>(reinterpret_cast<char*>(header) + offset);
  offset += uint64_t(capacity) * sizeof(Entry);
}

static_assert((sizeof(Indices) + 4095) / 4096 * 4096 == library_bytes);

bool begin_file(Store& store) {
  constexpr uint64_t bytes = whole_file_bytes;
  // Without wiping, a child would write into its parent's file.
  if (!wipe_on_fork()) return false;
  if (!watcher_lives()) return false;
  const int descriptor = create_file(bytes);
  if (descriptor < 0) return false;
  auto* header = static_cast<Header*>(map(bytes, MAP_SHARED, descriptor));
  syscall(SYS_close, descriptor);
  if (header == nullptr) return false;
  store.indices = static_cast<Indices*>(map(sizeof(Indices), MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1));
  if (store.indices == nullptr) return false;

  store.header = header;
  uint64_t offset = header_bytes;
  place(header->text, store.text, header, offset, text_capacity);
  place(header->modules, store.modules, header, offset, module_capacity);
  place(header->frames, store.frames, header, offset, frame_capacity);
  place(header->nodes, store.nodes, header, offset, node_capacity);
  place(header->sites, store.sites, header, offset, site_capacity);
  place(header->blocks, store.blocks, header, offset, block_capacity);
  header->version = file_version;
  header->pid = uint32_t(getpid());
  header->file_bytes = bytes;
  header->began = monotonic_nanoseconds();
  header->rate = rate;
  wiped.finer = most_finer;
  wiped.paced_samples = 0, wiped.paced_since = header->began;
  header->python = python_version();
  header->python_frames = python_frames_readable();
  memcpy(header->allocator, allocator_name, sizeof header->allocator);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  memcpy(header->magic, file_magic, sizeof file_magic);  // last: now the file may be read
  return true;
}

}  // namespace

uint8_t* const filter = wiped.filter;

void read_settings() {
  const char* where = getenv("PLIMSOLL_HEAP");
  sleeps = where != nullptr && strcmp(where, "dormant") == 0;
  if (where == nullptr || where[0] != '/' || strlen(where) >= sizeof folder) return;
  append(folder, folder + sizeof folder, where);
  if (const char* bytes = getenv("PLIMSOLL_HEAP_RATE")) {
    const uint64_t wanted = strtoull(bytes, nullptr, 10);
    if (wanted > 0 && wanted < (1ull << 40)) rate = wanted;
  }
}

bool starts_dormant() { return sleeps; }
bool wipe_on_fork() { return madvise(&wiped, sizeof wiped, MADV_WIPEONFORK) == 0; }
bool profiling_wanted() { return folder[0] != 0 && !restricted; }

bool may_write_file_of(uint64_t bytes) {
  rlimit limit;
  return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) != 0 || limit.rlim_cur >= bytes;
}

void do_no_more() {
  if (profiling_wanted()) leave_word(EPERM);
  restricted = true;
}

uint64_t sampling_rate() {
  const uint64_t finer = rate >> __atomic_load_n(&wiped.finer, __ATOMIC_RELAXED);
  return finer > 0 ? finer : 1;
}

void keep_pace(uint64_t nanoseconds) {
  const double seconds = 1e-9 * double(nanoseconds - wiped.paced_since);
  if (++wiped.paced_samples < pace_window && seconds < pace_seconds) return;
  const double a_second = double(wiped.paced_samples) / (seconds > 1e-6 ? seconds : 1e-6);
  const uint32_t live = wiped.store.live_blocks;
  uint32_t finer = wiped.finer;
  if (finer > 0 && (a_second > many_a_second || live > many_live))
    --finer;
  else if (finer < most_finer && a_second < few_a_second && live < many_live / 2)
    ++finer;
  __atomic_store_n(&wiped.finer, finer, __ATOMIC_RELAXED);
  wiped.paced_samples = 0, wiped.paced_since = nanoseconds;
}

void remember_allocator(void* its_malloc) {
  Dl_info info;
  if (dladdr(its_malloc, &info) == 0 || info.dli_fname == nullptr) return;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* name = slash ? slash + 1 : info.dli_fname;
  if (strncmp(name, "libc.so", 7) == 0) return;
  append(allocator_name, allocator_name + sizeof allocator_name, name);
  dl_find_object found;
  if (_dl_find_object(its_malloc, &found) != 0) return;
  allocator_start = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  allocator_end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
}

bool is_allocator(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return at >= allocator_start && at < allocator_end;
}

bool lock() {
  // The holder is busy for microseconds, or waits for a processor; one that was ended while it held the lock must not
  // stop the program.
  for (int attempt = 0; attempt < 3000; ++attempt) {
    if (__atomic_exchange_n(&wiped.locked, 1, __ATOMIC_ACQUIRE) == 0) return true;
    if (attempt < 100) {
      __builtin_ia32_pause();
    } else if (attempt < 200) {
      sched_yield();
    } else {
      const timespec moment = {0, 100000};
      syscall(SYS_nanosleep, &moment, nullptr);
    }
  }
  wiped.state = State::off;
  return false;
}

void unlock() { __atomic_store_n(&wiped.locked, 0, __ATOMIC_RELEASE); }

// Nobody reads the file any more: what was mapped for it is given back. Nothing points into it beyond the lock.
void end_file() {
  if (wiped.state == State::on) {
    syscall(SYS_munmap, wiped.store.indices, sizeof(Indices));
    syscall(SYS_munmap, wiped.store.header, wiped.store.header->file_bytes);
  }
  memset(&wiped.store, 0, sizeof wiped.store);
  memset(wiped.filter, 0, sizeof wiped.filter);
  wiped.finer = 0;
  wiped.state = State::unknown;
}

// Wakes up, goes on for another watcher, or goes to sleep.
void follow_wish() {
  static Wish wish;  // too large for small stacks; the lock is held
  if (wish_generation() != wiped.generation && read_wish(wish)) {
    end_file();
    wiped.generation = wish.generation;
    folder[0] = 0;
    if (wish.on && wish.folder[0] == '/') {
      if (wish.rate > 0 && wish.rate < (1ull << 40)) rate = wish.rate;
      append(folder, folder + sizeof folder, wish.folder);
    }
  } else if (profiling_wanted() && ++wiped.visits % 256 == 0 && !watcher_lives()) {
    end_file();
    folder[0] = 0;
  }
}

bool awake() {
  if (!dormant() || restricted) return profiling_wanted();
  const uint32_t wished = wish_generation();
  if (wished == wiped.generation && !profiling_wanted()) return false;
  if (!lock()) return false;
  follow_wish();
  unlock();
  return profiling_wanted();
}

Store* locked_store() {
  if (wiped.state == State::unknown) {
    wiped.state = State::off;  // in case making the file allocates
    if (profiling_wanted() && begin_file(wiped.store)) wiped.state = State::on;
  }
  return wiped.state == State::on ? &wiped.store : nullptr;
}

}  // namespace plimsoll::heap
