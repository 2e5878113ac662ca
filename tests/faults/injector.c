// Preloaded into the program by tests: lets the Nth allocation or the Nth file operation fail or end the process, and records the order of
// writes, renames and syncs.
//
//   PLIMSOLL_FAULT="memory 17"          the 17th malloc, calloc, realloc or memalign returns null
//   PLIMSOLL_FAULT="files 5"            the 5th operation on a file below PLIMSOLL_FAULT_UNDER fails
//   PLIMSOLL_FAULT="messages 9 kill"    the process is killed when it is about to send its 9th message by MPI, or to copy it from
//                                       another process
//   PLIMSOLL_FAULT="memory 17 always"   so does every later one
//   PLIMSOLL_FAULT="files 5 kill"       instead of failing, the operation kills the process; "stop" stops it
//   PLIMSOLL_FAULT_RANK=1               in a parallel job, of this rank only
//   PLIMSOLL_FAULT_COUNT=FILE           the numbers of both kinds, written at the end
//   PLIMSOLL_FAULT_LOG=FILE             every operation that changes something, with what was written
//
// Programs started by the program are not affected.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long memory_calls, file_calls, message_calls;
static long memory_fails, file_fails, message_fails;  // 0: none
static int always, counting, strikes;
static char under[1024];
static size_t under_size;
static int count_file = -1, log_file = -1;
static atomic_flag log_lock = ATOMIC_FLAG_INIT;

static int fails(atomic_long* calls, long wanted) {
  const long number = atomic_fetch_add(calls, 1) + 1;
  const int failing = wanted > 0 && (always ? number >= wanted : number == wanted);
  if (failing && strikes) raise(strikes);
  return failing && !strikes;
}

// Kept out of our own hands: a number above those the program uses, gone after exec.
static int own_file(const char* variable) {
  const char* path = getenv(variable);
  if (!path) return -1;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int high = fcntl(file, F_DUPFD_CLOEXEC, 900);
  syscall(SYS_close, file);
  return high;
}

static int this_rank(void) {
  const char *wanted = getenv("PLIMSOLL_FAULT_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  return !wanted || (rank && !strcmp(rank, wanted));
}

__attribute__((constructor)) static void begin(void) {
  const char *fault = getenv("PLIMSOLL_FAULT"), *folder = getenv("PLIMSOLL_FAULT_UNDER");
  char kind[16] = "", how[16] = "";
  long number = 0;
  if (fault && this_rank()) sscanf(fault, "%15s %ld %15s", kind, &number, how);
  if (!strcmp(kind, "memory")) memory_fails = number;
  if (!strcmp(kind, "files")) file_fails = number;
  if (!strcmp(kind, "messages")) message_fails = number;
  always = !strcmp(how, "always");
  strikes = !strcmp(how, "kill") ? SIGKILL : !strcmp(how, "stop") ? SIGSTOP : 0;
  if (folder) under_size = (size_t)snprintf(under, sizeof under, "%s", folder);
  count_file = own_file("PLIMSOLL_FAULT_COUNT");
  log_file = own_file("PLIMSOLL_FAULT_LOG");
  unsetenv("LD_PRELOAD"), unsetenv("PLIMSOLL_FAULT"), unsetenv("PLIMSOLL_FAULT_UNDER");
  unsetenv("PLIMSOLL_FAULT_COUNT"), unsetenv("PLIMSOLL_FAULT_LOG"), unsetenv("PLIMSOLL_FAULT_RANK");
  counting = 1;
}

__attribute__((destructor)) static void end(void) {
  char text[64];
  const int size = snprintf(text, sizeof text, "%ld %ld\n", (long)memory_calls, (long)file_calls);
  if (count_file >= 0) syscall(SYS_write, count_file, text, (size_t)size);
}

// ---- memory

static __thread int resolving;
static char first_bytes[4096];  // for dlsym itself
static size_t first_used;

static void* first_memory(size_t size) {
  void* memory = first_bytes + first_used;
  first_used += (size + 15) & ~(size_t)15;
  return first_used <= sizeof first_bytes ? memory : NULL;
}

#define FIND(name)                  \
  static __typeof__(&name) found; \
  if (!found) resolving = 1, found = (__typeof__(&name))dlsym(RTLD_NEXT, #name), resolving = 0

static int no_memory(void) {
  if (!counting || !fails(&memory_calls, memory_fails)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) {
  if (resolving) return first_memory(size);
  FIND(malloc);
  return no_memory() ? NULL : found(size);
}
void* calloc(size_t n, size_t size) {
  if (resolving) return first_memory(n * size);
  FIND(calloc);
  return no_memory() ? NULL : found(n, size);
}
void* realloc(void* old, size_t size) {
  FIND(realloc);
  return no_memory() ? NULL : found(old, size);
}
void* memalign(size_t alignment, size_t size) {
  FIND(memalign);
  return no_memory() ? NULL : found(alignment, size);
}
void free(void* memory) {
  if ((char*)memory >= first_bytes && (char*)memory < first_bytes + sizeof first_bytes) return;
  FIND(free);
  found(memory);
}

// ---- files

static int inside(const char* path) {
  return under_size > 0 && strncmp(path, under, under_size) == 0 && (path[under_size] == '/' || !path[under_size]);
}

// The path as the kernel knows it: of a descriptor, or of a name in a folder.
static const char* path_of(int file, char* path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
  path[length > 0 ? length : 0] = 0;
  return path;
}
static const char* path_at(int folder, const char* name, char* path, size_t size) {
  if (name[0] == '/') {
    snprintf(path, size, "%s", name);
  } else if (folder == AT_FDCWD) {
    if (!getcwd(path, size)) path[0] = 0;
    const size_t length = strlen(path);
    snprintf(path + length, size - length, "/%s", name);
  } else {
    path_of(folder, path, size);
    const size_t length = strlen(path);
    snprintf(path + length, size - length, "/%s", name);
  }
  return path;
}

static void record(const char* what, const char* path, const char* other, long offset, const void* data, size_t size) {
  if (log_file < 0) return;
  char head[4200];
  const int length = snprintf(head, sizeof head, "%s\t%s\t%s\t%ld\t%zu\n", what, path, other, offset, data ? size : 0);
  while (atomic_flag_test_and_set(&log_lock)) {
  }
  syscall(SYS_write, log_file, head, (size_t)length);
  if (data) syscall(SYS_write, log_file, data, size);
  atomic_flag_clear(&log_lock);
}

// Whether this operation is to fail.
static int no_luck(const char* path, int error) {
  if (!counting || !inside(path) || !fails(&file_calls, file_fails)) return 0;
  errno = error;
  return 1;
}

static int open_at(int folder, const char* name, int flags, mode_t mode) {
  char path[2048];
  path_at(folder, name, path, sizeof path);
  if (no_luck(path, flags & O_CREAT ? ENOSPC : EIO)) return -1;
  const int present = !(flags & O_CREAT) || faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  const int file = (int)syscall(SYS_openat, folder, name, flags | O_LARGEFILE, mode);
  if (file >= 0 && inside(path)) {
    if (!present) record("create", path, "", 0, NULL, 0);
    if (present && flags & O_TRUNC) record("truncate", path, "", 0, NULL, 0);
  }
  return file;
}

#define OPEN(name)                                    \
  int name(const char* path, int flags, ...) {        \
    va_list more;                                     \
    va_start(more, flags);                            \
    const mode_t mode = va_arg(more, mode_t);         \
    va_end(more);                                     \
    return open_at(AT_FDCWD, path, flags, mode);      \
  }
#define OPENAT(name)                                         \
  int name(int folder, const char* path, int flags, ...) {   \
    va_list more;                                            \
    va_start(more, flags);                                   \
    const mode_t mode = va_arg(more, mode_t);                \
    va_end(more);                                            \
    return open_at(folder, path, flags, mode);               \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void* data, size_t size) {
  char path[2048];
  if (counting && under_size && inside(path_of(file, path, sizeof path))) {
    if (no_luck(path, ENOSPC)) return -1;
    const int flags = fcntl(file, F_GETFL);
    struct stat now;
    const long at = flags & O_APPEND && fstat(file, &now) == 0 ? now.st_size : lseek(file, 0, SEEK_CUR);
    const ssize_t done = syscall(SYS_write, file, data, size);
    if (done > 0) record("write", path, "", at, data, (size_t)done);
    return done;
  }
  return syscall(SYS_write, file, data, size);
}
ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) {
  char path[2048];
  path_of(file, path, sizeof path);
  if (no_luck(path, ENOSPC)) return -1;
  const ssize_t done = syscall(SYS_pwrite64, file, data, size, offset);
  if (done > 0 && inside(path)) record("write", path, "", offset, data, (size_t)done);
  return done;
}
ssize_t pwrite(int file, const void* data, size_t size, off_t offset) { return pwrite64(file, data, size, offset); }

ssize_t read(int file, void* data, size_t size) {
  char path[2048];
  if (counting && under_size && no_luck(path_of(file, path, sizeof path), EIO)) return -1;
  return syscall(SYS_read, file, data, size);
}
ssize_t pread64(int file, void* data, size_t size, off64_t offset) {
  char path[2048];
  if (counting && under_size && no_luck(path_of(file, path, sizeof path), EIO)) return -1;
  return syscall(SYS_pread64, file, data, size, offset);
}
ssize_t pread(int file, void* data, size_t size, off_t offset) { return pread64(file, data, size, offset); }

static int sync_file(int file, long call) {
  char path[2048];
  path_of(file, path, sizeof path);
  if (no_luck(path, EIO)) return -1;
  // The disk is not waited for: what a sync means is decided when the log is read.
  (void)call;
  if (inside(path)) return record("sync", path, "", 0, NULL, 0), 0;
  return (int)syscall(call, file);
}
int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }

int ftruncate64(int file, off64_t size) {
  char path[2048];
  path_of(file, path, sizeof path);
  if (no_luck(path, ENOSPC)) return -1;
  const int code = (int)syscall(SYS_ftruncate, file, size);
  if (code == 0 && inside(path)) record("truncate", path, "", size, NULL, 0);
  return code;
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  char one[2048], other[2048];
  path_at(from_folder, from, one, sizeof one), path_at(to_folder, to, other, sizeof other);
  if (no_luck(other, EIO)) return -1;
  const int code = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
  if (code == 0 && inside(other)) record(flags & RENAME_EXCHANGE ? "exchange" : "rename", one, other, 0, NULL, 0);
  return code;
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char* from, const char* to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char* name, int flags) {
  char path[2048];
  path_at(folder, name, path, sizeof path);
  if (no_luck(path, EIO)) return -1;
  const int code = (int)syscall(SYS_unlinkat, folder, name, flags);
  if (code == 0 && inside(path)) record("remove", path, "", 0, NULL, 0);
  return code;
}
int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char* name, mode_t mode) {
  char path[2048];
  path_at(folder, name, path, sizeof path);
  if (no_luck(path, ENOSPC)) return -1;
  const int code = (int)syscall(SYS_mkdirat, folder, name, mode);
  if (code == 0 && inside(path)) record("folder", path, "", 0, NULL, 0);
  return code;
}
int mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

// ---- messages: those of MPI have seven arguments, whose types differ between libraries

int MPI_Isend(long data, long count, long type, long to, long tag, long group, long request) {
  static int (*found)(long, long, long, long, long, long, long);
  if (!found) resolving = 1, *(void**)&found = dlsym(RTLD_NEXT, "MPI_Isend"), resolving = 0;
  if (counting) fails(&message_calls, message_fails);
  return found(data, count, type, to, tag, group, request);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec* here, unsigned long pieces_here, const struct iovec* there,
                         unsigned long pieces_there, unsigned long flags) {
  FIND(process_vm_readv);
  if (counting) fails(&message_calls, message_fails);
  return found(pid, here, pieces_here, there, pieces_there, flags);
}
