#include "heap/preload/dormant.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/format.hpp"
#include "heap/preload/process.hpp"
#include "heap/preload/text.hpp"

namespace plimsoll::heap {
namespace {

WakePage* page = nullptr;  // forked children share it: the wish is for the whole tree
char path[256];
pid_t made_by = 0;

// The folder is this user's alone, or it is not used.
bool private_folder(const char* name) {
  mkdir(name, 0700);
  struct stat is;
  return lstat(name, &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == geteuid() && (is.st_mode & 077) == 0;
}

__attribute__((destructor)) void end_dormant() {
  if (page != nullptr && made_by == getpid()) unlink(path);
}

}  // namespace

void begin_dormant() {
  if (!may_write_file_of(sizeof(WakePage))) return;
  char* end = append(append(path, path + sizeof path, wake_folder), path + sizeof path, uint64_t(geteuid()));
  if (!private_folder(path)) return;
  append(append(end, path + sizeof path, "/"), path + sizeof path, uint64_t(getpid()));
  unlink(path);  // of what this process was before exec, or of one long gone
  const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return;
  if (ftruncate(descriptor, sizeof(WakePage)) == 0) {
    void* got = reinterpret_cast<void*>(
        syscall(SYS_mmap, nullptr, sizeof(WakePage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    if (got != MAP_FAILED) page = static_cast<WakePage*>(got);
  }
  close(descriptor);
  if (page == nullptr) {
    unlink(path);
    return;
  }
  made_by = getpid();
  page->version = wake_version;
  page->pid = uint32_t(made_by);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  memcpy(page->magic, wake_magic, sizeof wake_magic);  // last: now it may be written
}

bool dormant() { return page != nullptr; }

uint32_t wish_generation() {
  const uint32_t generation = page ? __atomic_load_n(&page->generation, __ATOMIC_ACQUIRE) : 0;
  return generation % 2 == 0 ? generation : 0;
}

bool read_wish(Wish& wish) {
  wish.generation = wish_generation();
  if (wish.generation == 0) return false;
  wish.on = page->on != 0;
  wish.rate = page->rate;
  memcpy(wish.folder, page->folder, sizeof wish.folder);
  wish.folder[sizeof wish.folder - 1] = 0;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return wish_generation() == wish.generation;
}

}  // namespace plimsoll::heap
